//! Source text to tokens.

use super::error::{ExprError, Span};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum TokenKind {
    Number(f64),
    Ident,
    Plus,
    Minus,
    Star,
    Slash,
    Caret,
    Less,
    LessEq,
    Greater,
    GreaterEq,
    Equal,
    NotEqual,
    And,
    Or,
    Not,
    If,
    Then,
    Else,
    True,
    False,
    Open,
    Close,
    OpenIndex,
    CloseIndex,
    Comma,
    Dot,
    /// `..`
    Range,
    /// `..=`
    RangeInclusive,
    End,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub kind: TokenKind,
    pub span: Span,
}

/// Splits `source` into tokens; the last one is [`TokenKind::End`].
pub(super) fn lex(source: &str) -> Result<Vec<Token>, ExprError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(c) = source[at..].chars().next() {
        if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        }
        let rest = &source[at..];
        let (kind, length) = if let Some(length) = number_length(rest) {
            (number(&rest[..length], at)?, length)
        } else if c.is_alphabetic() || c == '_' {
            let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
            let length = length.unwrap_or(rest.len());
            (word(&rest[..length]), length)
        } else {
            symbol(rest).ok_or_else(|| unexpected(rest, c, at))?
        };
        tokens.push(Token { kind, span: Span::new(at, at + length) });
        at += length;
    }
    tokens.push(Token { kind: TokenKind::End, span: Span::new(source.len(), source.len()) });
    Ok(tokens)
}

/// Comparisons with their characters in another order.
const REVERSED: [(&str, &str); 3] = [("=>", ">="), ("=<", "<="), ("=!", "!=")];

#[cold]
fn unexpected(rest: &str, found: char, at: usize) -> ExprError {
    let reversed = REVERSED.iter().find(|(found, _)| rest.starts_with(found));
    match reversed {
        Some(&(found, right)) => {
            ExprError::Reversed { found, right, span: Span::new(at, at + found.len()) }
        }
        None => {
            ExprError::UnexpectedCharacter { found, span: Span::new(at, at + found.len_utf8()) }
        }
    }
}

/// Length of the number at the start of `text`: `1`, `1.`, `.5`, `1.5e-3`.
fn number_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(0);
    let mut length = whole;
    // Two dots are a range: `1..9`.
    if bytes.get(length) == Some(&b'.') && bytes.get(length + 1) != Some(&b'.') {
        let fraction = digits(length + 1);
        if whole + fraction == 0 {
            return None;
        }
        length += 1 + fraction;
    }
    if length == 0 {
        return None;
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        // Without a digit the `e` is the start of a word, not an exponent.
        let exponent = bytes.get(length + 1 + sign).map_or(0, |_| digits(length + 1 + sign));
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    Some(length)
}

fn number(text: &str, at: usize) -> Result<TokenKind, ExprError> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(TokenKind::Number(value)),
        _ => Err(ExprError::NumberTooLarge {
            text: text.to_owned(),
            span: Span::new(at, at + text.len()),
        }),
    }
}

fn word(text: &str) -> TokenKind {
    match text {
        "if" => TokenKind::If,
        "then" => TokenKind::Then,
        "else" => TokenKind::Else,
        "and" => TokenKind::And,
        "or" => TokenKind::Or,
        "not" => TokenKind::Not,
        "true" => TokenKind::True,
        "false" => TokenKind::False,
        _ => TokenKind::Ident,
    }
}

fn symbol(rest: &str) -> Option<(TokenKind, usize)> {
    // Longer symbols first.
    const SYMBOLS: [(&str, TokenKind); 23] = [
        ("..=", TokenKind::RangeInclusive),
        ("..", TokenKind::Range),
        ("**", TokenKind::Caret),
        ("<=", TokenKind::LessEq),
        (">=", TokenKind::GreaterEq),
        ("==", TokenKind::Equal),
        ("!=", TokenKind::NotEqual),
        ("&&", TokenKind::And),
        ("||", TokenKind::Or),
        ("+", TokenKind::Plus),
        ("-", TokenKind::Minus),
        ("*", TokenKind::Star),
        ("/", TokenKind::Slash),
        ("^", TokenKind::Caret),
        ("<", TokenKind::Less),
        (">", TokenKind::Greater),
        ("!", TokenKind::Not),
        ("(", TokenKind::Open),
        (")", TokenKind::Close),
        ("[", TokenKind::OpenIndex),
        ("]", TokenKind::CloseIndex),
        (",", TokenKind::Comma),
        (".", TokenKind::Dot),
    ];
    SYMBOLS.iter().find(|(text, _)| rest.starts_with(text)).map(|&(text, kind)| (kind, text.len()))
}
