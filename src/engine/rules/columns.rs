//! Expressions of rules over the fields of a struct column, outside any plan.
//!
//! A rule has up to eight expressions. As columns of a plan those of all rules would be some three hundred, which take longer to plan than most
//! lakes take to read.

use crate::engine::functions::SCALAR;
use datafusion::arrow::array::{Array, ArrayRef, Float64Array, StructArray, new_null_array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::{DFSchema, Result};
use datafusion::execution::SessionState;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_plan::PhysicalExpr;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A session with the functions that rules may call.
static SESSION: LazyLock<SessionState> = LazyLock::new(|| {
    let mut builder = SessionStateBuilder::new_with_default_features();
    let functions = builder.scalar_functions().get_or_insert_default();
    functions.extend(SCALAR.iter().map(|function| Arc::new(function.udf())));
    builder.build()
});

/// What expressions are made of: columns by their names.
///
/// Numbers of each type are Float64, as the sums of a rule are, so that no count overflows.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    schema: SchemaRef,
}

impl Columns {
    /// Those of a struct.
    pub(super) fn of(fields: &Fields) -> Self {
        let fields = fields.iter().map(|field| {
            let data_type = match field.data_type() {
                DataType::Boolean => DataType::Boolean,
                t if t.is_string() => DataType::Utf8,
                _ => DataType::Float64,
            };
            Field::new(field.name(), data_type, true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Self { schema }
    }

    /// These and more numbers.
    pub(super) fn and(&self, numbers: &[&str]) -> Self {
        let more = numbers
            .iter()
            .map(|name| Field::new(*name, DataType::Float64, true));
        let fields = self
            .schema
            .fields()
            .iter()
            .map(|field| field.as_ref().clone());
        let schema = Arc::new(Schema::new(fields.chain(more).collect::<Vec<_>>()));
        Self { schema }
    }

    /// Their schema.
    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// An expression over them.
    pub(super) fn expression(&self, sql: &str) -> Result<Arc<dyn PhysicalExpr>> {
        let schema = DFSchema::try_from(self.schema.clone())?;
        let expr = SESSION.create_logical_expr(sql, &schema)?;
        let context = SimplifyContext::builder()
            .with_schema(Arc::new(schema.clone()))
            .with_config_options(SESSION.config_options().clone());
        let simplifier = ExprSimplifier::new(context.build());
        // Functions such as coalesce are nothing but what they are simplified to.
        let expr = simplifier.simplify(simplifier.coerce(expr, &schema)?)?;
        SESSION.create_physical_expr(expr, &schema)
    }

    /// A batch of the columns of a struct that have these names, and of others; what neither has is NULL.
    pub(super) fn batch(
        &self,
        rows: &StructArray,
        more: &[(&str, ArrayRef)],
    ) -> Result<RecordBatch> {
        let columns = self.schema.fields().iter().map(|field| {
            let other = || more.iter().find(|(name, _)| name == field.name());
            let found = rows.column_by_name(field.name());
            match found.or_else(|| other().map(|(_, column)| column)) {
                Some(column) => Ok(cast(column, field.data_type())?),
                None => Ok(new_null_array(field.data_type(), rows.len())),
            }
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        let columns = columns.collect::<Result<_>>()?;
        Ok(RecordBatch::try_new_with_options(
            self.schema.clone(),
            columns,
            &options,
        )?)
    }
}

/// The values of an expression.
pub(super) fn numbers(expression: &dyn PhysicalExpr, batch: &RecordBatch) -> Result<Float64Array> {
    let values = expression.evaluate(batch)?.into_array(batch.num_rows())?;
    Ok(Float64Array::from(
        cast(&values, &DataType::Float64)?.to_data(),
    ))
}

/// What is made of the fields of a struct, once for each program: they are the same each time that a query is asked.
pub(super) struct Once<T>(Mutex<Option<(Fields, Arc<T>)>>);

impl<T> Once<T> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    pub(super) fn of(
        &self,
        fields: &Fields,
        make: impl FnOnce(&Columns) -> Result<T>,
    ) -> Result<Arc<T>> {
        let mut made = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, made)) = &*made
            && of == fields
        {
            return Ok(made.clone());
        }
        let new = Arc::new(make(&Columns::of(fields))?);
        *made = Some((fields.clone(), new.clone()));
        Ok(new)
    }
}
