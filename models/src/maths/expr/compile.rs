//! Expressions to a program: sharing, lowering, and where the branches of `if` are computed.
//!
//! # Why
//! A node that is needed in one branch only may be skipped with it, but one that is needed
//! elsewhere too must be computed before the branch. Each branch is a *region* in a tree of
//! regions; a node belongs to the innermost region that contains all its uses. Regions that cost
//! less than a mispredicted jump are merged into the one around them, where the choice is a plain
//! selection.

use super::graph::Graph;
use super::op::Op;
use super::program::{Instr, Program, fingerprint};
use super::tree::{Expr, Node, NodeId, Origin};

/// Additions' worth of work from which on a branch is worth a jump.
const WORTH_A_JUMP: u32 = 8;
/// Branches nested deeper than this are computed with the branch around them.
const MAX_REGION_DEPTH: u32 = 64;

impl Program {
    /// Compiles expressions into one program that computes all of them, in this order of outputs.
    ///
    /// Nothing is reassociated: each result has the bits of [`Expr::eval`]. Only what cannot change
    /// them is rewritten: small whole powers are multiplied out as [`Expr::eval`] does, and a
    /// division by a power of two is a multiplication.
    pub fn compile<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Self {
        let mut graph = Graph::exact();
        let roots: Vec<NodeId> = exprs.into_iter().map(|expr| lower(&mut graph, expr)).collect();
        Self::of_graph(graph, &roots)
    }

    /// The program of a graph of instructions.
    pub(super) fn of_graph(graph: Graph, roots: &[NodeId]) -> Self {
        let regions = Regions::new(&graph, roots);
        Emitter::new(graph, &regions).program(roots)
    }
}

/// Brings `expr` into the graph in terms of instructions; gives its root.
fn lower(graph: &mut Graph, expr: &Expr) -> NodeId {
    let sources: Vec<u32> = expr.sources.iter().map(|text| graph.source(text)).collect();
    let mut ids: Vec<NodeId> = Vec::with_capacity(expr.nodes.len());
    for (node, origin) in expr.nodes.iter().zip(&expr.origins) {
        graph.here = Origin { source: sources[origin.source as usize], span: origin.span };
        let id = match *node {
            Node::Const(value) => graph.constant(value),
            Node::Var(id) => graph.var(id),
            Node::Powi(x, n) => lower_powi(graph, ids[x as usize], n),
            Node::Call(op, args) => {
                let args = args.map(|arg| ids[arg as usize]);
                match exact_inverse(graph, op, args[1]) {
                    Some(inverse) => graph.binary(Op::Mul, args[0], inverse),
                    None => graph.call(op, args),
                }
            }
        };
        ids.push(id);
    }
    ids[ids.len() - 1]
}

/// The multiplications of [`powi`](super::op::powi).
pub(super) fn lower_powi(graph: &mut Graph, x: NodeId, n: i32) -> NodeId {
    let magnitude = n.unsigned_abs().max(1);
    let mut power = x;
    for bit in (0..magnitude.ilog2()).rev() {
        power = graph.binary(Op::Mul, power, power);
        if magnitude >> bit & 1 == 1 {
            power = graph.binary(Op::Mul, power, x);
        }
    }
    if n < 0 {
        let one = graph.constant(1.0);
        power = graph.binary(Op::Div, one, power);
    }
    power
}

/// 1/b if `op` divides by a power of two, whose inverse is exact.
fn exact_inverse(graph: &mut Graph, op: Op, b: NodeId) -> Option<NodeId> {
    let divisor = graph.as_const(b).filter(|_| op == Op::Div)?;
    let power_of_two = divisor.is_normal() && divisor.to_bits().trailing_zeros() >= 52;
    let inverse = 1.0 / divisor;
    (power_of_two && inverse.is_normal()).then(|| graph.constant(inverse))
}

struct Region {
    parent: usize,
    depth: u32,
    cost: u32,
}

/// Where each node is computed.
struct Regions {
    regions: Vec<Region>,
    /// By node; none if it is not needed.
    of_node: Vec<Option<usize>>,
    /// By node: the regions of the two branches of a selection.
    branches: Vec<[usize; 2]>,
}

impl Regions {
    fn new(graph: &Graph, roots: &[NodeId]) -> Self {
        let count = graph.nodes.len();
        let mut all = Self {
            regions: vec![Region { parent: 0, depth: 0, cost: 0 }],
            of_node: vec![None; count],
            branches: vec![[0; 2]; count],
        };
        roots.iter().for_each(|&root| all.used(root, 0));
        // Users come after what they use, so that a node's region is final when it is reached.
        for id in (0..count).rev() {
            let Some(region) = all.of_node[id] else { continue };
            let node = &graph.nodes[id];
            if let Node::Call(op, _) = node {
                all.regions[region].cost = all.regions[region].cost.saturating_add(op.cost());
            }
            if let Node::Call(Op::Select, [condition, yes, no]) = *node {
                all.used(condition, region);
                for (branch, arg) in [yes, no].into_iter().enumerate() {
                    all.branches[id][branch] = all.inside(region);
                    all.used(arg, all.branches[id][branch]);
                }
            } else {
                node.operands().iter().for_each(|&arg| all.used(arg, region));
            }
        }
        // A region's number is above its parent's.
        for i in (1..all.regions.len()).rev() {
            let Region { parent, cost, .. } = all.regions[i];
            all.regions[parent].cost = all.regions[parent].cost.saturating_add(cost);
        }
        all
    }

    fn inside(&mut self, parent: usize) -> usize {
        let depth = self.regions[parent].depth + 1;
        if depth > MAX_REGION_DEPTH {
            return parent;
        }
        self.regions.push(Region { parent, depth, cost: 0 });
        self.regions.len() - 1
    }

    /// Notes that `node` is needed in `region`.
    fn used(&mut self, node: NodeId, region: usize) {
        let (mut a, mut b) = (self.of_node[node as usize].unwrap_or(region), region);
        while a != b {
            if self.regions[a].depth >= self.regions[b].depth {
                a = self.regions[a].parent;
            } else {
                b = self.regions[b].parent;
            }
        }
        self.of_node[node as usize] = Some(a);
    }

    /// The region in whose code this one's nodes stand.
    fn home(&self, mut region: usize) -> usize {
        while region != 0 && self.regions[region].cost < WORTH_A_JUMP {
            region = self.regions[region].parent;
        }
        region
    }
}

struct Emitter<'a> {
    graph: Graph,
    regions: &'a Regions,
    /// By region: its nodes in order.
    contents: Vec<Vec<NodeId>>,
    /// By node.
    registers: Vec<u32>,
    first: usize,
    program: Program,
}

impl<'a> Emitter<'a> {
    fn new(graph: Graph, regions: &'a Regions) -> Self {
        let mut program = Program {
            constants: Vec::new(),
            inputs: Vec::new(),
            code: Vec::new(),
            outputs: Vec::new(),
            vars_needed: 0,
            fingerprint: 0,
            input_origins: Vec::new(),
            origins: Vec::new(),
            sources: graph.sources.as_slice().into(),
        };
        let mut contents = vec![Vec::new(); regions.regions.len()];
        let mut registers = vec![0; graph.nodes.len()];
        for (id, node) in graph.nodes.iter().enumerate() {
            let Some(region) = regions.of_node[id] else { continue };
            match *node {
                Node::Const(value) => {
                    registers[id] = program.constants.len() as u32;
                    program.constants.push(value);
                }
                Node::Var(var) => {
                    registers[id] = program.inputs.len() as u32;
                    program.inputs.push(var);
                    program.input_origins.push(graph.origins[id]);
                    program.vars_needed = program.vars_needed.max(var.0.saturating_add(1));
                }
                _ => contents[regions.home(region)].push(id as NodeId),
            }
        }
        let constants = program.constants.len() as u32;
        for (register, node) in registers.iter_mut().zip(&graph.nodes) {
            *register += if let Node::Var(_) = node { constants } else { 0 };
        }
        let first = program.first();
        Self { graph, regions, contents, registers, first, program }
    }

    fn program(mut self, roots: &[NodeId]) -> Program {
        self.region(0);
        self.program.outputs = roots.iter().map(|&root| self.registers[root as usize]).collect();
        let Program { constants, inputs, code, .. } = &self.program;
        self.program.fingerprint = fingerprint(constants, inputs.len(), code);
        self.program
    }

    fn region(&mut self, region: usize) {
        for id in std::mem::take(&mut self.contents[region]) {
            let Node::Call(op, args) = self.graph.nodes[id as usize] else {
                unreachable!("leaves have no instruction and powers have been lowered")
            };
            if op == Op::Select {
                self.branches(id, args[0], region);
            }
            let args = args.map(|arg| self.registers[arg as usize]);
            self.registers[id as usize] = self.push(op, args, id);
        }
    }

    /// The code of those branches of a selection that are worth a jump.
    fn branches(&mut self, id: NodeId, condition: NodeId, region: usize) {
        let condition = self.registers[condition as usize];
        let [yes, no] = self.regions.branches[id as usize];
        let own = |branch: usize| branch != region && self.regions.home(branch) == branch;
        match (own(yes), own(no)) {
            (false, false) => {}
            (true, false) => self.skipped(Op::JumpUnless, condition, yes, id),
            (false, true) => self.skipped(Op::JumpIf, condition, no, id),
            (true, true) => {
                let to_no = self.jump(Op::JumpUnless, condition, id);
                self.region(yes);
                let to_end = self.jump(Op::Jump, condition, id);
                self.land(to_no);
                self.region(no);
                self.land(to_end);
            }
        }
    }

    fn skipped(&mut self, jump: Op, condition: u32, branch: usize, id: NodeId) {
        let jump = self.jump(jump, condition, id);
        self.region(branch);
        self.land(jump);
    }

    fn jump(&mut self, op: Op, condition: u32, id: NodeId) -> usize {
        self.push(op, [condition, 0, condition], id);
        self.program.code.len() - 1
    }

    /// Lets the jump arrive at the next instruction.
    fn land(&mut self, jump: usize) {
        let distance = self.program.code.len() - jump - 1;
        self.program.code[jump].args[1] = distance as u32;
    }

    fn push(&mut self, op: Op, args: [u32; 3], id: NodeId) -> u32 {
        let register = u32::try_from(self.first + self.program.code.len());
        self.program.code.push(Instr { op, args });
        self.program.origins.push(self.graph.origins[id as usize]);
        register.expect("fewer than 2^32 instructions")
    }
}
