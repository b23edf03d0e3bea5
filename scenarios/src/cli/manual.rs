//! `completions` and `man`.
use super::{
    Cli, Done,
    report::{Console, Stop},
};
use clap::CommandFactory;
use clap_complete::Shell;

/// `superdense completions SHELL`.
pub(super) fn completions(console: &Console, shell: Shell) -> Done {
    let (mut command, mut script) = (Cli::command(), Vec::new());
    clap_complete::generate(shell, &mut command, "superdense", &mut script);
    console.text(&String::from_utf8_lossy(&script));
    Ok(())
}

/// `superdense man`.
pub(super) fn page(console: &Console, name: Option<&str>) -> Done {
    let mut program = Cli::command();
    program.build();
    let command = match name {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(found) => found.clone(),
            None => {
                let names: Vec<_> =
                    program.get_subcommands().map(clap::Command::get_name).collect();
                let why =
                    format!("there is no command `{name}`; commands are {}", names.join(", "));
                return Err(Stop::usage(why));
            }
        },
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(|e| Stop::usage(e.to_string()))?;
    console.text(&String::from_utf8_lossy(&page));
    Ok(())
}
