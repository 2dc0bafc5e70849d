//! Users' own functions: `CREATE FUNCTION f(x BIGINT) RETURNS BIGINT RETURN expression`.
//!
//! A call is planned as the call of a scalar function, and written out before any other rule sees it: an analyzer's rewrite
//! puts the function's expression in its place, with the arguments, cast to the types of the parameters, where the parameters
//! stood. Nothing of it is left in an optimized plan.
//!
//! Why not in the text, as named queries are: a call in the plan is an expression like any other, so it may stand wherever one
//! may, keeps its own words as the heading of its column, can be made by [`Engine::call`](super::Engine::call) for a
//! DataFrame, and has its arguments checked by type. And nothing can be captured: what a parameter is replaced by is a
//! planned expression, whose columns are bound already.
//!
//! A name alone means what DataFusion or iolode have, then what the session keeps, then what the first lake keeps; `lake.f` means
//! that lake's, also where a newer iolode has a built-in of its name. A view of the session stays with the functions as they
//! were when it was made.
//!
//! | part | what it is |
//! |---|---|
//! | here | the function as DataFusion has it, and the rewrite |
//! | `statement` | `CREATE FUNCTION`, `DROP FUNCTION`, `SHOW FUNCTIONS` read; the functions that a statement calls |
//! | `resolve` | text to expression, with all that is refused |
//! | `change` | what these statements do to a list of functions |
//! | `session` | who keeps them: the lakes, or the session itself |
//! | `list` | the answer of `SHOW FUNCTIONS` |

mod change;
mod list;
mod resolve;
pub(super) mod session;
pub(super) mod session_functions;
pub(super) mod statement;

use crate::engine::rewrite::expr_up;
use datafusion::arrow::compute::can_cast_types;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, internal_err, plan_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    Cast, ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};

/// Terms that a call may become. A function that doubles its argument, called within itself, doubles them each time.
const TERMS: usize = 20_000;

/// A function whose calls are written out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SqlUdf {
    /// How it is called, with the lake's name before it where that is needed.
    name: String,
    /// How it is called, for messages.
    syntax: String,
    parameters: Vec<Parameter>,
    returns: DataType,
    /// The result; its only columns are the parameters, and it calls no function of a user.
    body: Expr,
    /// Terms of `body`.
    terms: usize,
    signature: Signature,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Parameter {
    name: String,
    data_type: DataType,
    /// How often it stands in the body.
    uses: usize,
}

impl SqlUdf {
    fn new(
        name: String,
        syntax: String,
        parameters: Vec<(String, DataType)>,
        returns: DataType,
        body: Expr,
    ) -> Result<Self> {
        let uses = |name: &str| count(&body, |expr| is_column(expr, name));
        let parameters = parameters
            .into_iter()
            .map(|(name, data_type)| {
                let uses = uses(&name)?;
                Ok(Parameter {
                    name,
                    data_type,
                    uses,
                })
            })
            .collect::<Result<_>>()?;
        let volatility = match body.is_volatile() {
            true => Volatility::Volatile,
            false => Volatility::Immutable,
        };
        Ok(Self {
            name,
            syntax,
            parameters,
            returns,
            terms: count(&body, |_| true)?,
            body,
            signature: Signature::user_defined(volatility),
        })
    }

    /// What a call with these arguments stands for.
    ///
    /// # Errors
    /// If their number is wrong, if a random value would stand in several places, or the expression would be too large.
    fn inlined(&self, args: &[Expr]) -> Result<Expr> {
        self.check_number(args.len())?;
        let mut terms = self.terms;
        for (parameter, arg) in self.parameters.iter().zip(args) {
            if parameter.uses > 1 && arg.is_volatile() {
                return plan_err!(
                    "{} uses its `{}` {} times, and `{arg}` is another value each time; give it a name in a subquery first",
                    self.name,
                    parameter.name,
                    parameter.uses
                );
            }
            terms = terms.saturating_add(parameter.uses.saturating_mul(count(arg, |_| true)?));
        }
        if terms > TERMS {
            return plan_err!(
                "{} written out has more than {TERMS} terms; give its arguments names in a subquery first",
                self.name
            );
        }
        let body = expr_up(self.body.clone(), &mut |expr| {
            let at = match &expr {
                Expr::Column(_) => self
                    .parameters
                    .iter()
                    .position(|p| is_column(&expr, &p.name)),
                _ => None,
            };
            Ok(match at {
                None => Transformed::no(expr),
                Some(at) => Transformed::yes(cast(
                    args[at].clone(),
                    self.parameters[at].data_type.clone(),
                )),
            })
        })?;
        Ok(cast(body.data, self.returns.clone()))
    }

    fn check_number(&self, given: usize) -> Result<()> {
        match self.parameters.len() {
            wanted if wanted == given => Ok(()),
            wanted => plan_err!(
                "{} takes {wanted} argument{}, {given} {} given: {}",
                self.name,
                if wanted == 1 { "" } else { "s" },
                if given == 1 { "was" } else { "were" },
                self.syntax
            ),
        }
    }
}

impl ScalarUDFImpl for SqlUdf {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, given: &[DataType]) -> Result<Vec<DataType>> {
        self.check_number(given.len())?;
        for (parameter, given) in self.parameters.iter().zip(given) {
            if !can_cast_types(given, &parameter.data_type) {
                return plan_err!(
                    "{}: `{}` cannot be made of a value of type {given}: {}",
                    self.name,
                    parameter.name,
                    self.syntax
                );
            }
        }
        // The cast is part of what is written out.
        Ok(given.to_vec())
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.returns.clone())
    }

    /// For the few places that plan without the analyzer, such as arguments of table functions.
    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inlined(&args).map(ExprSimplifyResult::Simplified)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        internal_err!("{} was not written out", self.name)
    }
}

/// Writes calls out. It comes before all other rewrites; within the bodies they have been applied already.
#[derive(Debug)]
pub(super) struct InlineSqlUdfs;

impl FunctionRewrite for InlineSqlUdfs {
    fn name(&self) -> &str {
        "write_out_user_functions"
    }

    fn rewrite(&self, expr: Expr, _: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(ScalarFunction { func, args }) = &expr else {
            return Ok(Transformed::no(expr));
        };
        let Some(function) = func.inner().downcast_ref::<SqlUdf>() else {
            return Ok(Transformed::no(expr));
        };
        // DataFusion finds the terms of GROUPING SETS again by their names.
        let name = expr.schema_name().to_string();
        Ok(Transformed::yes(function.inlined(args)?.alias(name)))
    }
}

fn cast(expr: Expr, data_type: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr), data_type))
}

fn is_column(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Column(column) if column.relation.is_none() && column.name == name)
}

/// How many terms of an expression are such.
fn count(expr: &Expr, is: impl Fn(&Expr) -> bool) -> Result<usize> {
    let mut count = 0;
    expr.apply(|expr| {
        count += usize::from(is(expr));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(count)
}
