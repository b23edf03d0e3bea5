//! A study that was run, read without touching it.
use super::{
    Runner, Sets, StudyError,
    conduct::key_of,
    store::{at, hex, results_of},
};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde_json::{Map, Value as Json};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

/// What a store tells about its study.
#[derive(Debug)]
pub struct About {
    /// The title, or the name.
    pub title: String,
    /// The version of the program that ran it.
    pub version: String,
    /// The study file.
    pub study: PathBuf,
    /// The scenario file.
    pub scenario: PathBuf,
    /// The seed.
    pub seed: u64,
    /// Paths of parameters and their units.
    pub parameters: Vec<(String, String)>,
    /// Names of results and their units.
    pub results: Vec<(String, String)>,
    /// The questions and their answers in words; none before the study is at its end.
    pub answers: Vec<(String, String)>,
}

/// A run of a study: the settings of its point, and its results, if it has any.
pub type SoFar = (Sets, Option<Vec<Option<f64>>>);

/// A store that is only read, also while a study writes it.
#[derive(Debug)]
pub struct Reader {
    file: PathBuf,
    connection: Connection,
    /// Keys of points by their number in `results.csv`.
    keys: Vec<String>,
}

impl Reader {
    /// Opens the store of a study.
    ///
    /// # Errors
    /// When there is none.
    pub fn open(file: &Path) -> Result<Self, StudyError> {
        if !file.is_file() {
            let why =
                "there is no study here; name the directory that `superdense study FILE` wrote";
            return Err(StudyError::Refused(format!("{}: {why}", file.display())));
        }
        let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)
            .map_err(at(file))?;
        let mut this = Self { file: file.to_owned(), connection, keys: Vec::new() };
        this.keys = this.numbered()?;
        Ok(this)
    }

    /// Points are numbered in the order in which the questions of the file ask for them.
    fn numbered(&self) -> Result<Vec<String>, StudyError> {
        let asks: Vec<String> = self.fact("asks")?;
        let mut keys = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for ask in asks {
            let sql = "SELECT key FROM ask WHERE name = ?1 ORDER BY ordinal";
            let mut statement = self.connection.prepare(sql).map_err(at(&self.file))?;
            let found = statement.query_map([ask], |row| row.get(0)).map_err(at(&self.file))?;
            for key in found {
                let key: String = key.map_err(at(&self.file))?;
                if seen.insert(key.clone()) {
                    keys.push(key);
                }
            }
        }
        Ok(keys)
    }

    /// The numbers of points by their keys.
    fn numbers(&self) -> HashMap<&str, usize> {
        self.keys.iter().enumerate().map(|(n, key)| (key.as_str(), n)).collect()
    }

    fn fact<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, StudyError> {
        let tables = self.connection.table_exists(None, "meta").map_err(at(&self.file))?;
        let sql = "SELECT value FROM meta WHERE name = ?1";
        let read = || self.connection.query_row(sql, [name], |row| row.get(0)).optional();
        let text: Option<String> = if tables { read().map_err(at(&self.file))? } else { None };
        let Some(text) = text else {
            let why = "the study has only begun, and its store tells nothing yet; try again";
            return Err(StudyError::Refused(format!("{}: {why}", self.file.display())));
        };
        serde_json::from_str(&text)
            .map_err(|e| StudyError::Refused(format!("{}: {name}: {e}", self.file.display())))
    }

    /// The scenario file.
    ///
    /// # Errors
    /// When the store does not tell.
    pub fn scenario(&self) -> Result<PathBuf, StudyError> {
        self.fact("scenario")
    }

    /// The study file.
    ///
    /// # Errors
    /// When the store does not tell.
    pub fn study(&self) -> Result<PathBuf, StudyError> {
        self.fact("study")
    }

    /// The settings of the study.
    ///
    /// # Errors
    /// When the store does not tell.
    pub fn sets(&self) -> Result<Sets, StudyError> {
        self.fact("sets")
    }

    /// Its seed.
    ///
    /// # Errors
    /// When the store does not tell.
    pub fn seed(&self) -> Result<u64, StudyError> {
        self.fact("seed")
    }

    /// All that the store tells about its study.
    ///
    /// # Errors
    /// When the store does not tell.
    pub fn about(&self) -> Result<About, StudyError> {
        let study = self.study()?;
        let parameters: Vec<Map<String, Json>> = self.fact("parameters")?;
        let text = |p: &Map<String, Json>, key: &str| {
            p.get(key).and_then(Json::as_str).unwrap_or_default().to_owned()
        };
        let results: Vec<String> = self.fact("results")?;
        let units: Vec<String> = self.fact("units")?;
        Ok(About {
            title: self.fact("title")?,
            version: self.fact("version")?,
            scenario: self.scenario()?,
            seed: self.seed()?,
            parameters: parameters.iter().map(|p| (text(p, "path"), text(p, "unit"))).collect(),
            results: results.into_iter().zip(units).collect(),
            answers: self.fact("answers").unwrap_or_default(),
            study,
        })
    }

    /// Point, replicate, status and error of runs without results, in the order of points.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn lost(&self) -> Result<Vec<(usize, u32, String, String)>, StudyError> {
        let sql = "SELECT key, replicate, status, error FROM run WHERE status <> 'done'";
        let mut statement = self.connection.prepare(sql).map_err(at(&self.file))?;
        let mut rows = statement.query([]).map_err(at(&self.file))?;
        let (mut found, numbers) = (Vec::new(), self.numbers());
        while let Some(row) = rows.next().map_err(at(&self.file))? {
            let read = || Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            let (key, replicate, status, why): (_, _, _, Option<String>) =
                read().map_err(at(&self.file))?;
            if let Some(&number) = numbers.get(key.as_str()) {
                found.push((number, replicate, status, why.unwrap_or_default()));
            }
        }
        found.sort_by_key(|(point, replicate, ..)| (*point, *replicate));
        Ok(found)
    }

    /// All runs so far, in no order that means anything.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn so_far(&self) -> Result<Vec<SoFar>, StudyError> {
        let names: Vec<String> = self.fact("results")?;
        let sql = "SELECT parameters, results FROM run JOIN point USING (key) ORDER BY parameters, replicate";
        let mut statement = self.connection.prepare(sql).map_err(at(&self.file))?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        let read = |row: rusqlite::Result<(String, Option<String>)>| {
            let (parameters, results) = row.map_err(at(&self.file))?;
            Ok((self.settings(&parameters)?, results.and_then(|text| results_of(&text, &names))))
        };
        rows.map_err(at(&self.file))?.map(read).collect()
    }

    /// The settings of a point.
    ///
    /// # Errors
    /// When there is no point of this number.
    pub fn point(&self, number: usize) -> Result<Sets, StudyError> {
        let Some(key) = self.keys.get(number) else {
            let have = match self.keys.len() {
                0 => "no question is answered yet; run the study to its end".to_owned(),
                n => format!("points have the numbers 0 to {}, as in results.csv", n - 1),
            };
            return Err(StudyError::Refused(format!("there is no point {number}: {have}")));
        };
        let sql = "SELECT parameters FROM point WHERE key = ?1";
        let text: String =
            self.connection.query_row(sql, [key], |row| row.get(0)).map_err(at(&self.file))?;
        self.settings(&text)
    }

    /// Whether the run of a point is still the one that the study did: its files, and the program, are the same.
    ///
    /// # Errors
    /// When the store does not tell, or the scenario has mistakes.
    pub fn is_current<R: Runner>(&self, number: usize, runner: &R) -> Result<bool, StudyError> {
        let (key, _) = runner.plan(&self.point(number)?, None).map_err(StudyError::Refused)?;
        Ok(self.keys[number] == hex(key_of(key, self.seed()?)))
    }

    fn settings(&self, text: &str) -> Result<Sets, StudyError> {
        let object: Map<String, Json> = serde_json::from_str(text)
            .map_err(|e| StudyError::Refused(format!("{}: {e}", self.file.display())))?;
        let text = |v: &Json| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
        Ok(object.iter().map(|(path, value)| (path.clone(), text(value))).collect())
    }

    /// Point and replicate of the run in which a result is smallest, or largest; of equal ones the first.
    ///
    /// # Errors
    /// When there is no such result.
    pub fn extreme(&self, name: &str, largest: bool) -> Result<(usize, u32), StudyError> {
        let names: Vec<String> = self.fact("results")?;
        if !names.iter().any(|n| n == name) {
            let why = format!("there is no result `{name}`; results are {}", names.join(", "));
            return Err(StudyError::Refused(why));
        }
        let numbers = self.numbers();
        let sql = "SELECT key, replicate, results FROM run WHERE status = 'done'";
        let mut statement = self.connection.prepare(sql).map_err(at(&self.file))?;
        let mut rows = statement.query([]).map_err(at(&self.file))?;
        let mut best: Option<(f64, (usize, u32))> = None;
        while let Some(row) = rows.next().map_err(at(&self.file))? {
            let read = || Ok((row.get::<_, String>(0)?, row.get(1)?, row.get::<_, String>(2)?));
            let (key, replicate, results) = read().map_err(at(&self.file))?;
            let value = results_of(&results, &[name.to_owned()]).and_then(|r| r[0]);
            let (Some(value), Some(&number)) = (value, numbers.get(key.as_str())) else { continue };
            let value = if largest { -value } else { value };
            let place = (value, (number, replicate));
            if best.is_none_or(|b| place.0 < b.0 || place.0 == b.0 && place.1 < b.1) {
                best = Some(place);
            }
        }
        best.map(|b| b.1).ok_or_else(|| {
            StudyError::Refused(format!(
                "`{name}` happened in no run; choose a point by its number"
            ))
        })
    }
}
