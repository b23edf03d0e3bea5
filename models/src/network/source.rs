//! `packet-source`: packets at random, in a rhythm or by a trace.
use super::board::Board;
use crate::{
    blocks::table::{is_data, ticks},
    kinds::{
        Context, ParamError, ParamType, Params, ValueType, files,
        params::{Reader, with},
        ports::{event, ports, signal},
    },
    maths::random::RandomStream,
    signal::{
        NEVER, Timer,
        value::{Packet, Value},
    },
};
use serde::{Deserialize, Serialize};
use superdense_kernel::{
    Atomic, Component, Effects, Outbox,
    port::OutPort,
    time::{Duration, RationalClock},
};

/// When packets are sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Pattern {
    /// Exponential gaps with this mean in seconds. Times add up in seconds and are cut to ticks.
    Poisson { mean: f64, time: f64, stream: RandomStream },
    /// At the instants of a clock.
    Periodic(RationalClock),
    /// At these ticks.
    Trace(Vec<i64>),
}

/// Sends packets. Outputs: 0 the packets, 1 their number as a signal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Source {
    timer: Timer,
    pattern: Pattern,
    limit: u64,
    /// Tick of the last packet that may be sent.
    until: i64,
    /// Tick of the next packet.
    next: i64,
    /// The packet sent last, the pattern for the next one.
    packet: Packet,
    board: Board,
}

impl Source {
    const OUT: OutPort<Packet, Self> = OutPort::new(0);
    const COUNT: u16 = 1;

    fn draw(&mut self) {
        let tps = self.timer.resolution().ticks_per_second() as f64;
        let sent = self.packet.id;
        self.next = match &mut self.pattern {
            _ if sent >= self.limit => NEVER,
            Pattern::Poisson { mean, time, stream } => {
                // In (0, 1]; MINSTD never gives 0.
                let u = match stream {
                    RandomStream::Minstd(_) => stream.uniform(),
                    RandomStream::Pcg(_) => 1.0 - stream.uniform(),
                };
                *time += -*mean * libm::log(u);
                let ticks = *time * tps;
                if ticks < 9e18 { ticks as i64 } else { NEVER }
            }
            Pattern::Periodic(clock) => clock.tick(sent).unwrap_or(NEVER),
            Pattern::Trace(ticks) => ticks.get(sent as usize).copied().unwrap_or(NEVER),
        };
        if self.next > self.until {
            self.next = NEVER;
        }
    }
}

impl Atomic<Value> for Source {
    fn outputs(&self) -> u16 {
        2
    }
    fn time_advance(&self) -> Duration {
        self.timer.advance()
    }
    #[inline(always)]
    fn output(&self, out: &mut Outbox<'_, Value>) {
        if self.board.pending() {
            return self.board.output(out);
        }
        let id = self.packet.id + 1;
        out.send(Self::OUT, Packet { created: out.now().ticks, id, ..self.packet });
    }
    fn internal(&mut self, _: &mut Effects<Value>) {
        self.timer.fire();
        if self.board.pending() {
            self.board.sent();
        } else {
            self.packet.id += 1;
            if self.board.is_time() {
                self.board.tell(&[Some(self.packet.id as f64)], self.timer.now());
            }
            self.draw();
        }
        self.timer.set(if self.board.pending() { self.timer.now() } else { self.next });
    }
    fn probe(&self, port: u16, _: Duration) -> Option<Value> {
        (port == Self::COUNT).then_some(Value::Real(self.packet.id as f64))
    }
}

/// Reads the ticks of a trace: the first column of a CSV file, in seconds, ascending.
fn trace(params: &Params, context: &Context<'_>) -> Result<Vec<i64>, ParamError> {
    let name = params.text("file");
    let fail = |why: String| {
        let help = "give a CSV file whose first column `time` holds seconds in ascending order";
        ParamError::at(params.span("file"), format!("{name}: {why}")).help(help)
    };
    let text = files::read_text(&context.folder.join(name)).map_err(|e| fail(e.to_string()))?;
    let mut sent: Vec<i64> = Vec::new();
    if text.lines().next().is_some_and(|first| is_data(first.split(','))) {
        return Err(fail("line 1: numbers instead of the names of columns".into()));
    }
    for (number, line) in (1..).zip(text.lines()).skip(1) {
        let first = line.split(',').next().unwrap_or("").trim();
        let tick = ticks(first, context.resolution);
        let tick = tick.map_err(|why| fail(format!("line {number}: {why}")))?;
        if tick < sent.last().copied().unwrap_or(0) {
            return Err(fail(format!("line {number}: {first} lies before the line above")));
        }
        sent.push(tick);
    }
    Ok(sent)
}

unit_kind! {
    /// `packet-source`: sends packets. Outputs `out` (packets), `count` (signal).
    ///
    /// `pattern` is `poisson` (exponential gaps of mean 1/`rate`; send times add up in seconds
    /// and are cut to ticks), `periodic` (every `period` from `start` on) or `trace` (the times
    /// in the first column of `file`).
    ///
    /// ```toml
    /// [unit.meter]
    /// kind = "packet-source"
    /// rate = 125.0         # packets per second
    /// start = "0.1 s"
    /// bytes = 256
    /// header = 30
    /// address = 7
    /// to = 100
    /// ```
    PacketSource = "packet-source", "packets at random, in a rhythm or by a trace",
    params: [
        with("pattern", ParamType::Choice(&["poisson", "periodic", "trace"]), "poisson", "when"),
        with("rate", ParamType::Real(Some("1/s")), "", "packets per second (poisson)"),
        with("period", ParamType::Period, "", "time between packets (periodic)"),
        with("file", ParamType::File, "", "CSV file with send times in seconds (trace)"),
        with("start", ParamType::Duration, "0 s", "the first random gap begins here; a periodic source sends its first packet here"),
        with("limit", ParamType::Int, "", "number of packets; default no limit"),
        with("until", ParamType::Duration, "", "nothing is sent later; default no limit"),
        with("bytes", ParamType::Bytes, "256", "payload of a packet"),
        with("header", ParamType::Bytes, "0", "bytes of all headers"),
        with("address", ParamType::Int, "0", "own address"),
        with("to", ParamType::Int, "0", "address of the destination"),
        with("minstd", ParamType::Int, "", "start state of a MINSTD generator; gaps are -ln(u)/rate"),
        with("every", ParamType::Int, "", "packets between messages to wired receivers; default 1"),
    ],
    ports: |_| Ok(ports([], [event("out", ValueType::Packet), signal("count")])),
    build: |params, context| {
        let mut r = Reader::new(params);
        let start = r.duration("start");
        let bytes = r.int("bytes", 0, 1 << 24) + r.int("header", 0, 1 << 16);
        let packet = Packet {
            bits: 8 * bytes as u32,
            source: r.int("address", 0, u32::MAX.into()) as u32,
            destination: r.int("to", 0, u32::MAX.into()) as u32,
            code: Packet::SILENT,
            ..Packet::default()
        };
        let used = match params.text("pattern") {
            "periodic" => "period",
            "trace" => "file",
            _ => "rate",
        };
        let message = format!("a source of this pattern needs `{used}`");
        let given = r.given(used);
        r.check(given, "pattern", message, &format!("add {used} = …"));
        let pattern = match used {
            _ if !given => Pattern::Trace(Vec::new()),
            "period" => Pattern::Periodic(r.clock("period", start, context.resolution)),
            "file" => Pattern::Trace(trace(params, context).unwrap_or_else(|e| {
                r.push(e);
                Vec::new()
            })),
            _ => Pattern::Poisson {
                mean: 1.0 / r.positive("rate"),
                time: context.resolution.seconds(start),
                stream: r.stream(context, "gaps"),
            },
        };
        let limit = if r.given("limit") { r.int("limit", 0, i64::MAX) as u64 } else { u64::MAX };
        let mut model = Source {
            timer: Timer::due(0, context.resolution),
            pattern,
            limit,
            until: if r.given("until") { r.duration("until") } else { NEVER },
            next: start,
            packet,
            board: Board::new(Source::COUNT, &[Some(0.0)], &mut r, context),
        };
        model.draw();
        r.finish(Component::atomic(model))
    },
}

#[cfg(test)]
mod tests {
    use crate::kinds::testing::{Bench, mistakes};

    #[test]
    fn traces_and_rhythms() {
        let folder = std::env::temp_dir().join(format!("superdense-trace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("t.csv"), "time,bytes\n0.5,1\n0.5000000000000001,2\n2,1\n")
            .unwrap();
        let bench = Bench::run_in(
            &folder,
            "[unit.t]\nkind='packet-source'\npattern='trace'\nfile='t.csv'\nto=4\nevery=1000\n\
             [unit.p]\nkind='packet-source'\npattern='periodic'\nperiod=2\nstart=1\naddress=3",
            5.0,
        );
        std::fs::remove_dir_all(&folder).unwrap();
        let expected = ["0.5@0 packet 0/1 to 4", "0.5@1 packet 0/2 to 4", "2@0 packet 0/3 to 4"];
        assert_eq!(bench.events("t.out"), expected);
        let expected = ["1@0 packet 3/1 to 0", "3@0 packet 3/2 to 0", "5@0 packet 3/3 to 0"];
        assert_eq!(bench.events("p.out"), expected);
    }

    #[test]
    fn a_source_needs_its_knob() {
        let found = mistakes("[unit.s]\nkind='packet-source'\nbytes=-1");
        assert_eq!(
            found,
            [
                "`bytes` is -1; give an integer from 0 to 16777216",
                "a source of this pattern needs `rate`; add rate = …"
            ]
        );
    }
}
