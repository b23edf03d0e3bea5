//! Every broken file of `rejected/` and every broken option gives the message that is stored with
//! the test: line, problem and remedy.
use crate::{plan_with, scenarios};
use superdense::{Diagnostics, Overrides};

fn check(name: &str, d: &Diagnostics) {
    let text = d.render(false);
    for m in d.mistakes() {
        assert!(!m.help.is_empty(), "{name}: no remedy for: {}", m.message);
        assert!(!m.message.is_empty());
        crate::has_a_remedy(name, m);
    }
    assert!(text.is_ascii() || name.contains("unicode"), "{name}: plain means ASCII:\n{text}");
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn messages() {
    let files = scenarios("rejected");
    assert!(files.len() > 40);
    let mut wrong = String::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines = text.lines();
        let what = lines.next().and_then(|l| l.strip_prefix("# "));
        assert!(what.is_some(), "{}: the first line says what is wrong", file.display());
        let codes = lines.next().and_then(|l| l.strip_prefix("# mistakes: "));
        let codes =
            codes.unwrap_or_else(|| panic!("{}: the second line has codes", file.display()));
        let d = superdense::load(&file, &[], &Overrides::default()).expect_err("a mistake");
        let mut found: Vec<&str> = d.mistakes().iter().map(|m| m.code).collect();
        let mut expected: Vec<&str> = codes.split_whitespace().collect();
        found.sort_unstable();
        expected.sort_unstable();
        if found != expected {
            wrong += &format!("{}: expected {expected:?}\n{d}\n", file.display());
            continue;
        }
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let place = format!("{}:", file.file_name().unwrap().to_str().unwrap());
        let elsewhere = ["include_cycle", "include_content"].contains(&stem);
        assert!(elsewhere || d.render(false).contains(&place), "{stem}: names no line");
        check(stem, &d);
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn options() {
    let text = "stop = 1\n[parameters]\ngain = 2.0\nnetwork.delay = '1 ms'\n\
                [unit.source]\nkind = 'constant'\nvalue = 'gain'\n";
    let cases = [
        ("set_parameter", "gian", "3"),
        ("set_nested", "network.dely", "3"),
        ("set_unit", "unit.sorce.value", "3"),
        ("set_key", "sotp", "3"),
        ("set_path", "a..b", "3"),
        ("set_unknown_key", "unit.source.vlaue", "3"),
        ("set_value", "gain", "2 * x"),
        ("set_measure", "network.delay", "3 secs"),
        ("set_include", "include", "['parts/pump.toml']"),
        ("set_include_one", "include[0]", "'parts/pump.toml'"),
    ];
    for (name, path, value) in cases {
        check(name, &plan_with(text, &[(path, value)]).expect_err(name));
    }
}

#[test]
fn overrides() {
    let folder = crate::Folder::new("overrides");
    let file = folder.write("s.toml", "stop = 1\n");
    let overrides = Overrides {
        until: Some("-3".into()),
        sample: Some("x".into()),
        seed: None,
        ..Overrides::default()
    };
    check("overrides", &superdense::load(&file, &[], &overrides).unwrap_err());
}

#[test]
fn files_that_are_none() {
    let folder = crate::Folder::new("files");
    let load = |path: &std::path::Path| superdense::load(path, &[], &Overrides::default());
    let d = load(&folder.0.join("nothing.toml")).unwrap_err();
    assert!(d.render(false).contains("does not exist"));
    let d = load(&folder.write("bytes.toml", [b'a', 0xff, 0xfe])).unwrap_err();
    assert!(d.render(false).contains("in line 1 (offset 1)"));
    let d = load(&folder.0).unwrap_err();
    assert!(d.render(false).contains("cannot be read"));
    let d = load(&folder.write("large.toml", vec![b'#'; (16 << 20) + 1])).unwrap_err();
    assert!(d.render(false).contains("is larger than 16 MiB"));
}

/// A pipe would wait for ever, and lines of files elsewhere are nobody's business.
#[cfg(unix)]
#[test]
fn includes_are_regular_files_and_keep_their_lines() {
    let folder = crate::Folder::new("foreign-include");
    let load = |path: &std::path::Path| superdense::load(path, &[], &Overrides::default());
    let pipe = folder.0.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    std::fs::create_dir_all(folder.0.join("own/below")).unwrap();
    let secret = "password = hunter2\nroot:x:0:0\n";
    folder.write("secret", secret);
    folder.write("own/below/secret", secret);
    folder.write("odd.toml", "[unit.a]\nkind = 'gian' # hunter2\n");
    std::os::unix::fs::symlink("../secret", folder.0.join("own/link")).unwrap();
    let table = "stop = 1\n[unit.a]\nkind = 'csv'\nfile = '../pipe'\n";
    for (text, says, hides) in [
        ("include = '../pipe'\nstop = 1\n", "no regular file", true),
        (table, "no file `../pipe`", true),
        ("include = '../secret'\nstop = 1\n", "at ", true),
        ("include = 'link'\nstop = 1\n", "own/link:", true),
        ("include = 'below/secret'\nstop = 1\n", "hunter2", false),
        ("include = '../odd.toml'\nstop = 1\n", "odd.toml:2:9", true),
    ] {
        let text = load(&folder.write("own/s.toml", text)).expect_err(text).render(false);
        assert!(text.contains(says), "{says} in {text}");
        assert_eq!(text.contains("hunter2"), !hides, "{text}");
        assert!(!text.contains("root:x") || !hides, "{text}");
    }
    assert!(load(&pipe).unwrap_err().render(false).contains("no regular file"));
}
