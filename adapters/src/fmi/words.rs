//! Inputs and outputs of texts and bytes: ports of events, which tell each change. Bytes are texts of hexadecimal
//! digits outside of the FMU.
use super::{
    description::{Type, Variable},
    instance::{CallError, Called, Instance},
    layout::Layout,
    library::Status,
    starts::{Start, digits, hexadecimal},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use superdense_kernel::{Bag, Outbox, port::OutPort};
use superdense_models::signal::value::Value;

/// A variable of texts or bytes.
#[derive(Debug, Clone)]
struct Word {
    name: String,
    reference: u32,
    binary: bool,
    /// Number of its first element among those of all.
    first: usize,
    elements: usize,
}

/// All of an FMU that have ports. These follow those of numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Words {
    inputs: Vec<Word>,
    outputs: Vec<Word>,
    /// Numbers of the first ports.
    input: u16,
    output: u16,
    /// Start values of all elements of inputs.
    starts: Vec<Arc<str>>,
}

/// The texts of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Said {
    /// Texts that inputs hear, element by element, and which variables have heard something.
    heard: Vec<Arc<str>>,
    driven: Vec<bool>,
    /// Something else than before was heard since inputs were set last.
    pub fresh: bool,
    /// Texts of outputs that receivers know.
    told: Vec<Option<Arc<str>>>,
    outbox: Vec<(u16, Arc<str>)>,
}

fn words(layout: &Layout, list: &[(usize, usize)]) -> Vec<Word> {
    let mut next = 0;
    let word = |&(v, _): &(usize, usize)| {
        let Variable { name, reference, ty, elements, .. } = &layout.description.variables[v];
        let first = next;
        next += elements;
        Word {
            name: name.clone(),
            reference: *reference,
            binary: *ty == Type::Binary,
            first,
            elements: *elements,
        }
    };
    list.iter().map(word).collect()
}

impl Words {
    /// The texts and bytes of an FMU; `given` are start values of the scenario by places of variables.
    pub(super) fn new<'a>(layout: &Layout, given: impl Fn(usize) -> Option<&'a Start>) -> Self {
        let (inputs, outputs) =
            (words(layout, &layout.word_inputs), words(layout, &layout.word_outputs));
        let mut starts = Vec::new();
        for &(v, _) in &layout.word_inputs {
            let variable = &layout.description.variables[v];
            let own = given(v).map_or_else(|| variable.start.clone(), Start::texts);
            let text = |k| own.get(k).or(own.first()).map_or("", String::as_str);
            starts.extend((0..variable.elements).map(|k| Arc::from(text(k))));
        }
        let [input, output] = [&layout.inputs, &layout.outputs].map(|l| layout.numbers(l) as u16);
        Self { inputs, outputs, input, output, starts }
    }

    /// Numbers of ports.
    pub(super) fn ports(&self) -> (u16, u16) {
        let count = |all: &[Word]| all.iter().map(|w| w.elements).sum::<usize>() as u16;
        (count(&self.inputs), count(&self.outputs))
    }

    /// Nothing heard and nothing told.
    pub(super) fn begin(&self) -> Said {
        Said {
            heard: self.starts.clone(),
            driven: vec![false; self.inputs.len()],
            told: vec![None; usize::from(self.ports().1)],
            ..Said::default()
        }
    }

    /// Keeps the texts of a bag; whether there was one.
    ///
    /// # Errors
    /// When something else came, from a unit that sends values of any type.
    pub(super) fn receive(&self, bag: &Bag<'_, Value>, said: &mut Said) -> Called<bool> {
        let mut any = false;
        for (port, value) in bag.iter().filter(|_| !self.inputs.is_empty()) {
            let Some(place) = port.checked_sub(self.input).map(usize::from) else { continue };
            let holds = |w: &Word| (w.first..w.first + w.elements).contains(&place);
            let Some(word) = self.inputs.iter().position(holds) else { continue };
            let Value::Text(text) = value else { return Err(no_text(&self.inputs[word], value)) };
            said.fresh |= said.heard[place] != *text;
            said.heard[place] = Arc::clone(text);
            said.driven[word] = true;
            any = true;
        }
        Ok(any)
    }

    /// Sets inputs that hear something.
    ///
    /// # Errors
    /// The FMU's, or when a text is no row of bytes.
    pub(super) fn write(&self, instance: &Instance, said: &mut Said) -> Called {
        said.fresh = false;
        for (word, _) in self.inputs.iter().zip(&said.driven).filter(|(_, driven)| **driven) {
            let texts = &said.heard[word.first..word.first + word.elements];
            if word.binary {
                let bytes = |text: &Arc<str>| hexadecimal(text).map_err(|why| no_bytes(word, &why));
                let bytes = texts.iter().map(bytes).collect::<Result<Vec<_>, _>>()?;
                instance.write_bytes(&word.name, word.reference, &bytes)?;
            } else {
                let texts: Vec<String> = texts.iter().map(|t| t.to_string()).collect();
                instance.write_texts(&word.name, word.reference, &texts)?;
            }
        }
        Ok(())
    }

    /// Lines up outputs of which receivers know something else.
    ///
    /// # Errors
    /// The FMU's.
    pub(super) fn queue(&self, instance: &Instance, said: &mut Said) -> Called {
        said.outbox.clear();
        for word in &self.outputs {
            let texts = if word.binary {
                let bytes = instance.read_bytes(&word.name, word.reference, word.elements)?;
                bytes.iter().map(|bytes| digits(bytes)).collect()
            } else {
                instance.read_texts(&word.name, word.reference, word.elements)?
            };
            for (place, text) in (word.first..).zip(texts) {
                if said.told[place].as_deref() != Some(&*text) {
                    said.outbox.push((self.output + place as u16, text.into()));
                }
            }
        }
        Ok(())
    }
}

impl Said {
    /// Whether an input has heard something.
    pub(super) fn hears(&self) -> bool {
        self.driven.contains(&true)
    }

    /// Whether texts wait to be sent.
    pub(super) fn waits(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Texts that were lined up are void.
    pub(super) fn forget(&mut self) {
        self.outbox.clear();
    }

    pub(super) fn send(&self, out: &mut Outbox<'_, Value>) {
        for (port, text) in &self.outbox {
            out.send(OutPort::<Arc<str>>::new(*port), Arc::clone(text));
        }
    }

    /// Receivers know what was sent.
    pub(super) fn note_sent(&mut self, words: &Words) {
        for (port, text) in self.outbox.drain(..) {
            self.told[usize::from(port - words.output)] = Some(text);
        }
    }

    /// Whether this can be of a unit that has `other`.
    pub(super) fn fits(&self, other: &Self) -> bool {
        self.heard.len() == other.heard.len()
            && self.driven.len() == other.driven.len()
            && self.told.len() == other.told.len()
    }
}

fn no_text(word: &Word, value: &Value) -> CallError {
    let call =
        format!("input {} got `{value}`, which is no text: connect an output of texts", word.name);
    CallError { call, status: Status::Unasked, log: Vec::new() }
}

fn no_bytes(word: &Word, why: &str) -> CallError {
    let call = format!(
        "input {} of type Binary: {why}; connect an output of bytes, or texts such as \"00ff\"",
        word.name
    );
    CallError { call, status: Status::Unasked, log: Vec::new() }
}
