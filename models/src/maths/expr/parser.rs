//! Tokens to a syntax tree, by operator precedence (Pratt 1973, "Top down operator precedence").
//!
//! # Why
//! Nesting is limited ([`MAX_DEPTH`]) because the parser recurses and a scenario file must not be
//! able to overflow the stack. The tree is a list in which children come before their parents: a
//! sum of ten thousand terms is deep without being nested, and lists are walked by loops.

use super::error::{ExprError, OPERATOR, Span};
use super::lexer::{Token, TokenKind, lex};

/// Longest source text in bytes.
pub const MAX_SOURCE: usize = 64 * 1024;
/// Deepest nesting of parentheses, calls, conditionals, prefix operators and powers.
pub const MAX_DEPTH: usize = 200;

/// Index of a syntax node in its tree.
pub(super) type AstId = usize;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BinaryOp {
    Or,
    And,
    Less,
    LessEq,
    Greater,
    GreaterEq,
    Equal,
    NotEqual,
    Add,
    Sub,
    Mul,
    Div,
    Pow,
}

/// A part of a path such as `pump[3].q`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Segment {
    Name(Span),
    Index(AstId),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum AstKind {
    Number(f64),
    Bool(bool),
    Path(Vec<Segment>),
    Neg(AstId),
    Not(AstId),
    Binary(BinaryOp, AstId, AstId),
    If(AstId, AstId, AstId),
    Call {
        name: Span,
        args: Vec<AstId>,
    },
    /// `sum(body for i in from..to)`; the nodes `first..=body` are resolved once for each index.
    Over {
        name: Span,
        first: AstId,
        body: AstId,
        index: Span,
        range: Range,
    },
}

/// `from..to`, or `from..=to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub from: AstId,
    pub to: AstId,
    pub inclusive: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct AstNode {
    pub kind: AstKind,
    pub span: Span,
}

/// A parsed expression whose names have not been looked up yet; made by [`parse`].
///
/// [`Ast::real`] and [`Ast::condition`] give it a meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Ast {
    pub(super) source: String,
    /// Children before parents; the last one is the whole expression.
    pub(super) nodes: Vec<AstNode>,
}

impl Ast {
    /// The names of the functions that are called.
    pub fn calls(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().filter_map(|node| match &node.kind {
            AstKind::Call { name, .. } => Some(name.of(&self.source)),
            _ => None,
        })
    }

    /// The text that was parsed.
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// Parses one expression; the grammar is in the [module documentation](super).
///
/// # Errors
/// The first place at which the text stops being an expression.
///
/// ```
/// use superdense_models::maths::expr::parse;
///
/// assert!(parse("if x > 0 then sqrt(x) else 0").is_ok());
/// assert_eq!(parse("2 * (x + 1").unwrap_err().to_string(), "this `(` is never closed");
/// ```
pub fn parse(source: &str) -> Result<Ast, ExprError> {
    let whole = Span::new(0, source.len());
    if source.len() > MAX_SOURCE {
        return Err(ExprError::TooLong { length: source.len(), limit: MAX_SOURCE, span: whole });
    }
    let tokens = lex(source)?;
    if tokens.len() == 1 {
        return Err(ExprError::Empty { span: whole });
    }
    let mut parser = Parser { source, tokens, at: 0, nodes: Vec::new(), depth: 0 };
    parser.expression(0)?;
    if parser.peek().kind != TokenKind::End {
        return Err(parser.unexpected(OPERATOR));
    }
    Ok(Ast { source: source.to_owned(), nodes: parser.nodes })
}

// Binding powers; the rest follow from `infix`.
const COMPARISON: u8 = 7;
const NOT: u8 = 5;
const NEG: u8 = 13;

/// The operator of a token with its left and right binding power.
fn infix(kind: TokenKind) -> Option<(BinaryOp, u8, u8)> {
    Some(match kind {
        TokenKind::Or => (BinaryOp::Or, 1, 2),
        TokenKind::And => (BinaryOp::And, 3, 4),
        TokenKind::Less => (BinaryOp::Less, COMPARISON, 8),
        TokenKind::LessEq => (BinaryOp::LessEq, COMPARISON, 8),
        TokenKind::Greater => (BinaryOp::Greater, COMPARISON, 8),
        TokenKind::GreaterEq => (BinaryOp::GreaterEq, COMPARISON, 8),
        TokenKind::Equal => (BinaryOp::Equal, COMPARISON, 8),
        TokenKind::NotEqual => (BinaryOp::NotEqual, COMPARISON, 8),
        TokenKind::Plus => (BinaryOp::Add, 9, 10),
        TokenKind::Minus => (BinaryOp::Sub, 9, 10),
        TokenKind::Star => (BinaryOp::Mul, 11, 12),
        TokenKind::Slash => (BinaryOp::Div, 11, 12),
        TokenKind::Caret => (BinaryOp::Pow, 16, 15),
        _ => return None,
    })
}

/// A finished part of the tree with its span *including* parentheses around it, which the span of
/// its node leaves out.
#[derive(Clone, Copy)]
struct Part {
    id: AstId,
    span: Span,
}

struct Parser<'a> {
    source: &'a str,
    tokens: Vec<Token>,
    at: usize,
    nodes: Vec<AstNode>,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Token {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn eat(&mut self, kind: TokenKind) -> Option<Token> {
        (self.peek().kind == kind).then(|| self.next())
    }

    fn push(&mut self, kind: AstKind, span: Span) -> Part {
        self.nodes.push(AstNode { kind, span });
        Part { id: self.nodes.len() - 1, span }
    }

    fn unexpected(&self, expected: &'static str) -> ExprError {
        let Token { kind, span } = self.peek();
        match kind {
            TokenKind::End => ExprError::UnexpectedEnd { expected, span },
            TokenKind::Close if expected == OPERATOR => ExprError::Unopened { close: ')', span },
            TokenKind::CloseIndex if expected == OPERATOR => {
                ExprError::Unopened { close: ']', span }
            }
            _ => ExprError::UnexpectedToken { found: span.of(self.source).into(), expected, span },
        }
    }

    /// Takes the bracket that closes `open`.
    fn close(&mut self, open: Token, expected: &'static str) -> Result<Span, ExprError> {
        let (bracket, kind) = match open.kind {
            TokenKind::OpenIndex => ('[', TokenKind::CloseIndex),
            _ => ('(', TokenKind::Close),
        };
        match self.peek().kind {
            TokenKind::End => Err(ExprError::Unclosed { open: bracket, span: open.span }),
            found if found == kind => Ok(self.next().span),
            _ => Err(self.unexpected(expected)),
        }
    }

    fn expression(&mut self, power: u8) -> Result<Part, ExprError> {
        if self.depth == MAX_DEPTH {
            return Err(ExprError::TooDeep { limit: MAX_DEPTH, span: self.peek().span });
        }
        self.depth += 1;
        let left = self.operand()?;
        let result = self.operators(left, power)?;
        self.depth -= 1;
        Ok(result)
    }

    /// Extends `left` by all operators that bind at least as tightly as `power`.
    fn operators(&mut self, mut left: Part, power: u8) -> Result<Part, ExprError> {
        let mut compared = false;
        while let Some((op, tight, right_power)) = infix(self.peek().kind) {
            if tight < power {
                break;
            }
            let comparison = tight == COMPARISON;
            if comparison && compared {
                return Err(ExprError::ChainedComparison { span: self.peek().span });
            }
            compared = comparison;
            self.next();
            let right = self.expression(right_power)?;
            let kind = AstKind::Binary(op, left.id, right.id);
            left = self.push(kind, left.span.to(right.span));
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Part, ExprError> {
        let token = self.peek();
        match token.kind {
            TokenKind::Number(value) => {
                self.next();
                Ok(self.push(AstKind::Number(value), token.span))
            }
            TokenKind::True | TokenKind::False => {
                self.next();
                Ok(self.push(AstKind::Bool(token.kind == TokenKind::True), token.span))
            }
            TokenKind::Plus => {
                self.next();
                self.expression(NEG)
            }
            TokenKind::Minus | TokenKind::Not => {
                self.next();
                let minus = token.kind == TokenKind::Minus;
                let Part { id, span } = self.expression(if minus { NEG } else { NOT })?;
                let kind = if minus { AstKind::Neg(id) } else { AstKind::Not(id) };
                Ok(self.push(kind, token.span.to(span)))
            }
            TokenKind::Open => {
                self.next();
                let inner = self.expression(0)?;
                self.group(token, inner)
            }
            TokenKind::If => {
                self.next();
                self.conditional(token)
            }
            TokenKind::Ident => self.path_or_call(),
            _ => Err(self.unexpected("a number, a variable, a function or `(`")),
        }
    }

    /// Closes a parenthesis around `inner`.
    fn group(&mut self, open: Token, inner: Part) -> Result<Part, ExprError> {
        let close = self.close(open, "an operator or `)`")?;
        Ok(Part { id: inner.id, span: open.span.to(close) })
    }

    /// `if c then a else b` or `if(c, a, b)`; the `if` has been taken.
    fn conditional(&mut self, start: Token) -> Result<Part, ExprError> {
        let condition = if let Some(open) = self.eat(TokenKind::Open) {
            let first = self.expression(0)?;
            if self.eat(TokenKind::Comma).is_some() {
                return self.conditional_call(start, open, first);
            }
            // Only the start of the condition was in parentheses: `if (a) and b then`.
            let grouped = self.group(open, first)?;
            self.operators(grouped, 0)?
        } else {
            self.expression(0)?
        };
        if self.eat(TokenKind::Then).is_none() {
            return Err(self.unexpected("an operator or `then`"));
        }
        let yes = self.expression(0)?;
        if self.eat(TokenKind::Else).is_none() {
            return Err(self.unexpected("an operator or `else`"));
        }
        let no = self.expression(0)?;
        Ok(self.push(AstKind::If(condition.id, yes.id, no.id), start.span.to(no.span)))
    }

    /// The rest of `if(c, a, b)` after the first comma.
    fn conditional_call(
        &mut self,
        start: Token,
        open: Token,
        condition: Part,
    ) -> Result<Part, ExprError> {
        let mut parts = vec![condition.id];
        loop {
            parts.push(self.expression(0)?.id);
            if self.eat(TokenKind::Comma).is_none() {
                break;
            }
        }
        let span = start.span.to(self.close(open, "`,`, an operator or `)`")?);
        match parts[..] {
            [c, yes, no] => Ok(self.push(AstKind::If(c, yes, no), span)),
            _ => Err(ExprError::ArgumentCount {
                name: "if".into(),
                expected: "3 arguments".into(),
                found: parts.len(),
                span,
            }),
        }
    }

    fn path_or_call(&mut self) -> Result<Part, ExprError> {
        let first = self.next().span;
        let mut span = first;
        let mut segments = vec![Segment::Name(first)];
        loop {
            if self.eat(TokenKind::Dot).is_some() {
                let Some(name) = self.eat(TokenKind::Ident) else {
                    return Err(self.unexpected("a name after `.`"));
                };
                span = span.to(name.span);
                segments.push(Segment::Name(name.span));
            } else if let Some(open) = self.eat(TokenKind::OpenIndex) {
                let index = self.expression(0)?.id;
                span = span.to(self.close(open, "an operator or `]`")?);
                segments.push(Segment::Index(index));
            } else if let Some(open) = self.eat(TokenKind::Open) {
                return self.call(span, open);
            } else {
                return Ok(self.push(AstKind::Path(segments), span));
            }
        }
    }

    fn call(&mut self, name: Span, open: Token) -> Result<Part, ExprError> {
        let mut args = Vec::new();
        if let Some(close) = self.eat(TokenKind::Close) {
            return Ok(self.push(AstKind::Call { name, args }, name.to(close.span)));
        }
        let first = self.nodes.len();
        loop {
            args.push(self.expression(0)?.id);
            if args.len() == 1 && self.eat_word("for") {
                return self.over(name, open, first, args[0]);
            }
            if self.eat(TokenKind::Comma).is_none() {
                break;
            }
        }
        let close = self.close(open, "`,`, an operator or `)`")?;
        Ok(self.push(AstKind::Call { name, args }, name.to(close)))
    }

    /// Takes a word that is special here only.
    fn eat_word(&mut self, word: &str) -> bool {
        let Token { kind, span } = self.peek();
        let found = kind == TokenKind::Ident && span.of(self.source) == word;
        if found {
            self.next();
        }
        found
    }

    /// The rest of `sum(body for i in from..to)` after the `for`.
    fn over(
        &mut self,
        name: Span,
        open: Token,
        first: AstId,
        body: AstId,
    ) -> Result<Part, ExprError> {
        let Some(Token { span: index, .. }) = self.eat(TokenKind::Ident) else {
            return Err(self.unexpected("the name of an index"));
        };
        if !self.eat_word("in") {
            return Err(self.unexpected("`in`"));
        }
        let from = self.expression(0)?.id;
        let inclusive = self.eat(TokenKind::RangeInclusive).is_some();
        if !inclusive && self.eat(TokenKind::Range).is_none() {
            return Err(self.unexpected("`..` or `..=`"));
        }
        let to = self.expression(0)?.id;
        let close = self.close(open, "an operator or `)`")?;
        let range = Range { from, to, inclusive };
        Ok(self.push(AstKind::Over { name, first, body, index, range }, name.to(close)))
    }
}
