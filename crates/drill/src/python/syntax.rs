//! The syntax tree.

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    Expression(Expression),
    /// The condition, its text, and its message.
    Assert(Expression, String, Option<Expression>),
    /// Several names are assigned the items of a tuple.
    Assign(Vec<String>, Expression),
    /// `name += value`
    Update(String, Operator, Expression),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Integer(i64),
    Float(f64),
    Text(String),
    /// `f"..."`: text and expressions, alternating.
    Format(Vec<(String, Option<Expression>)>),
    True,
    False,
    None,
    Name(String),
    Tuple(Vec<Expression>),
    List(Vec<Expression>),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Invert(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    /// A chain: each pair of neighbours is compared.
    Compare(Box<Expression>, Vec<(Comparison, Expression)>),
    /// `then if condition else otherwise`
    Choice(Box<(Expression, Expression, Expression)>),
    Call(String, Vec<Expression>),
    /// `value.method(arguments)`
    Method(Box<Expression>, String, Vec<Expression>),
    Index(Box<Expression>, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    NotIn,
    Is,
    IsNot,
}
