//! Mistakes in study files: their messages.
use crate::{Folder, study::SCENARIO};
use std::path::Path;
use superdense::study::Study;

/// Each broken study has its message, with line and remedy.
#[test]
fn mistakes() {
    let folder = Folder::new("study-mistakes");
    folder.write("scenario.toml", SCENARIO);
    folder.write("points.csv", "a,c\n1,2\n");
    folder.write("short.csv", "a,b\n1\n");
    let vary = "[vary]\na = { from = 0.0, to = 4.0 }\nb = [1, 2]\n";
    let ask = "[ask.q]\nmethod = 'grid'\nover = ['b']\n";
    let q = |text: &str| format!("scenario = 'scenario.toml'\n{vary}[ask.q]\n{text}\n");
    let v = |text: &str| format!("scenario = 'scenario.toml'\n[vary]\n{text}\n{ask}");
    let r = |text: &str| format!("scenario = 'scenario.toml'\n{vary}[replicate]\n{text}\n{ask}");
    let cases = [
        ("no scenario", format!("{vary}{ask}")),
        ("missing scenario", format!("scenario = 'x.toml'\n{vary}{ask}")),
        ("unknown key", format!("scenario = 'scenario.toml'\nworker = 2\n{vary}{ask}")),
        ("bad seed", format!("scenario = 'scenario.toml'\nseed = -1\n{vary}{ask}")),
        ("bad timeout", format!("scenario = 'scenario.toml'\ntimeout = '1 m'\n{vary}{ask}")),
        ("nothing asked", format!("scenario = 'scenario.toml'\n{vary}")),
        (
            "result defined twice",
            format!("scenario = 'scenario.toml'\n{vary}{ask}[result]\ny = 'final(x.y)'\n"),
        ),
        ("unknown path", v("b = [1]\naa = [1, 2]")),
        ("no end", v("b = [1]\na = { from = 1 }")),
        ("ends exchanged", v("b = [1]\na = { from = 2, to = 1 }")),
        ("units mixed", v("b = [1]\ndelay = { from = '1 ms', to = 2 }")),
        ("unit of measure", v("b = [1]\ndelay = { from = '1 sec', to = '2 sec' }")),
        ("wide step", v("b = [1]\na = { from = 1, to = 2, step = 3 }")),
        ("empty list", v("b = []")),
        ("no number", v("b = [1, '2 secs']")),
        ("no method", q("over = ['b']")),
        ("unknown method", q("method = 'gird'\nover = ['b']")),
        ("later method", q("method = 'optimise'\nover = ['b']")),
        ("unknown parameter", q("method = 'grid'\nover = ['bb']")),
        ("levels missing", q("method = 'grid'\nover = ['a']")),
        ("levels of a list", q("method = 'grid'\nover = { b = 3 }")),
        ("key of another method", q("method = 'grid'\nover = ['b']\nsamples = 4")),
        ("samples", q("method = 'sobol'\nover = ['a']\nsamples = 100")),
        ("no samples", q("method = 'latin-hypercube'\nover = ['a']")),
        ("too many runs", q("method = 'latin-hypercube'\nover = ['a']\nsamples = 2000000")),
        ("no condition", q("method = 'boundary'\nover = 'b'")),
        ("no step", q("method = 'boundary'\nover = 'a'\nkeep = 'y > 1'")),
        ("unknown result", q("method = 'boundary'\nover = 'b'\nkeep = 'yy > 1'")),
        ("no result", q("method = 'boundary'\nover = 'b'\nkeep = '2 > 1'")),
        ("value outside", q("method = 'grid'\nover = { a = [9] }")),
        ("value that measures something else", q("method = 'grid'\nover = { a = ['1 m'] }")),
        ("no variants", q("method = 'first'\nover = ['b']\nkeep = 'y > 1'")),
        ("variant of nothing", q("method = 'first'\nkeep = ['y > 1', 'z > 1']\nvariant = [{}]")),
        (
            "variant that sets what it varies",
            q("method = 'first'\nkeep = 'y > 1'\nover = ['b']\nvariant = [{ set = { b = 1 } }]"),
        ),
        (
            "variant that sets what does not vary",
            q(
                "method = 'first'\nkeep = 'y > 1'\nover = ['b']\nvariant = [{ set = { delay = 1 } }]",
            ),
        ),
        ("no file", q("method = 'list'")),
        ("missing file", q("method = 'list'\nfile = 'nothing.csv'")),
        ("unknown column", q("method = 'list'\nfile = 'points.csv'")),
        ("short line", q("method = 'list'\nfile = 'short.csv'")),
        ("bad set", q("method = 'grid'\nover = ['b']\nset = { c = 1 }")),
        ("least and most", r("least = 9\nmost = 4")),
        ("width of nothing", r("until = { x = 1 }")),
        ("bad width", r("until = { y = '-5 %' }")),
        ("one replicate", r("least = 1")),
        (
            "all mistakes at once",
            "scenario = 'scenario.toml'\n[vary]\na = { from = 2, to = 1 }\nb = [1, 2]\n\
             [ask.limit]\nmethod = 'boundary'\nover = 'a'\nkeep = 'yy > 1'\n\
             [ask.fill]\nmethod = 'sobol'\nover = ['a', 'c', 'd']\nsamples = 100\n\
             [ask.map]\nmethod = 'grid'\nover = { a = [1], b = [7, 8] }\nreplicate = 0\n"
                .to_owned(),
        ),
        ("questions without one", format!("scenario = 'scenario.toml'\n{vary}[ask]\n")),
        (
            "setting of the study",
            format!("scenario = 'scenario.toml'\nset = {{ a = 1, nosuch = 3 }}\n{vary}{ask}"),
        ),
        ("setting that is lost", q("method = 'grid'\nover = ['b']\nset = { b = 1 }")),
        (
            "setting that is lost everywhere",
            format!("scenario = 'scenario.toml'\nset = {{ b = 1 }}\n{vary}{ask}"),
        ),
        (
            "seeds of replicates",
            v("b = [1]\nseed = [1, 2]")
                + "replicate = 2\n[ask.s]\nmethod = 'grid'\nover = ['seed']\nreplicate = 2\n",
        ),
        ("one parameter twice", v("b = [1]\n'parameters.b' = [2]")),
        (
            "name of a column",
            format!("scenario = 'scenario.toml'\n{vary}{ask}[result]\nstatus = 'y + 1'\n"),
        ),
    ];
    let mut text = String::new();
    for (name, study) in cases {
        let file = folder.write("study.toml", &study);
        let mistakes = Study::read(&file, &[]).map(|_| ()).expect_err(name);
        mistakes.mistakes().iter().for_each(|m| crate::has_a_remedy(name, m));
        let drawn = mistakes.render(false).replace(&folder.0.display().to_string(), "");
        text += &format!("## {name}\n{}\n", drawn.trim_end());
    }
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("study_mistakes", text);
    });
    let missing = Study::read(Path::new("/nowhere/study.toml"), &[]).map(|_| ()).unwrap_err();
    assert!(missing.render(false).contains("does not exist"));
}
