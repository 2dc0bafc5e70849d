//! The program behind a command line.

use crate::source::ReadContext;

/// The program's name: base name of the first word that is neither a launcher nor its options; an interpreter is replaced
/// by its script. The site's rules come first. None for an empty command line.
///
/// # Source
/// Darshan keeps the arguments joined by single blanks and unquoted, so a program name with a blank in it is cut there.
pub fn app(exe: &str, context: &ReadContext) -> Option<String> {
    if let Some((_, name)) = context.apps.iter().find(|(rule, _)| rule.is_match(exe)) {
        return Some(name.clone());
    }
    let mut words = exe.split_ascii_whitespace().peekable();
    let mut program = words.next()?;
    while LAUNCHERS.contains(&base_name(program)) {
        // A launcher's options, their numbers, and environment settings stand before the program.
        let mut after_option = false;
        let next = words.by_ref().find(|word| {
            let setting = word.starts_with('-')
                || word.contains('=')
                || word
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b == b':' || b == b',');
            let value = after_option && LAUNCHER_VALUES.contains(word);
            after_option = word.starts_with('-');
            !setting && !value
        });
        match next {
            Some(next) => program = next,
            None => break,
        }
    }
    let name = base_name(program);
    let name = match is_interpreter(name) {
        true => script(name, words).unwrap_or(name),
        false => name,
    };
    Some(name.to_string())
}

/// Programs that start another one, named on their command line.
const LAUNCHERS: &[&str] = &[
    "mpirun",
    "mpiexec",
    "mpiexec.hydra",
    "mpirun_rsh",
    "orterun",
    "prun",
    "prterun",
    "srun",
    "aprun",
    "jsrun",
    "ibrun",
    "lrun",
    "flux",
    "env",
    "nohup",
    "nice",
    "ionice",
    "numactl",
    "taskset",
    "time",
    "timeout",
    "stdbuf",
    "setsid",
    "shifter",
    "singularity",
    "apptainer",
    "exec",
    "run",
];

/// Words that are a launcher option's value though they look like a program.
const LAUNCHER_VALUES: &[&str] = &[
    "core", "socket", "node", "none", "hwthread", "numa", "cores", "sockets", "threads", "block",
    "cyclic", "L",
];

fn is_interpreter(name: &str) -> bool {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    matches!(
        stem,
        "python"
            | "pypy"
            | "ipython"
            | "perl"
            | "ruby"
            | "Rscript"
            | "julia"
            | "lua"
            | "node"
            | "java"
            | "bash"
            | "sh"
            | "zsh"
            | "ksh"
            | "csh"
            | "tcsh"
            | "dash"
    )
}

/// The script among an interpreter's arguments; None if there is none, as with `python -c`.
fn script<'a>(interpreter: &str, mut words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let java = interpreter == "java";
    while let Some(word) = words.next() {
        match word {
            "-c" | "-e" if !java => return None,
            "-m" | "-jar" => return words.next().map(base_name),
            "-W" | "-X" | "-cp" | "-classpath" | "--module-path" | "-p" => _ = words.next(),
            _ if word.starts_with('-') => {}
            _ => return Some(base_name(word)),
        }
    }
    None
}

fn base_name(path: &str) -> &str {
    path.trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(exe: &str, expected: &str) {
        assert_eq!(
            app(exe, &ReadContext::default()).as_deref(),
            Some(expected),
            "{exe}"
        );
    }

    #[test]
    fn launchers_are_stripped_and_interpreters_replaced_by_their_script() {
        check("/global/u/x/vpicio_uni /scratch/out 32", "vpicio_uni");
        check("mpirun -np 4 --bind-to core ./ior -a POSIX", "ior");
        check(
            "srun -n 32 env OMP_NUM_THREADS=2 /sw/bin/lmp -in in.lj",
            "lmp",
        );
        check(
            "/usr/bin/python3.11 -u -W ignore train.py --epochs 3",
            "train.py",
        );
        check(
            "python -m torch.distributed.run x.py",
            "torch.distributed.run",
        );
        check("python3 -c import", "python3");
        check("java -cp a.jar:b.jar org.example.Main", "org.example.Main");
        check("java -jar /opt/x.jar", "x.jar");
        check("bash ./run.sh", "run.sh");
        check("3141592653", "3141592653");
        check("srun", "srun");
        assert_eq!(app("", &ReadContext::default()), None);
    }

    #[test]
    fn a_sites_rule_wins_over_everything() {
        let rule = regex::Regex::new(r"(^|/)vasp_(std|gam|ncl)\b").unwrap();
        let context = ReadContext {
            apps: vec![(rule, "VASP".into())],
            ..ReadContext::default()
        };
        assert_eq!(
            app("srun -n 8 /sw/vasp_gam", &context).as_deref(),
            Some("VASP")
        );
        assert_eq!(
            app("srun -n 8 /sw/vaspkit", &context).as_deref(),
            Some("vaspkit")
        );
    }
}
