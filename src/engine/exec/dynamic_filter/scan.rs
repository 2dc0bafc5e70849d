//! The scan that reads what lies within bounds that are known when it begins.

use super::key_bounds::{KeyBounds, MinMax, number, wider};
use crate::engine::node_rewrite::Node;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::{DataSource, DataSourceExec};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, lit};
use datafusion::physical_expr::{PhysicalExpr, conjunction};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{TryStreamExt, stream};
use std::fmt::{Debug, Formatter};
use std::ops::Range;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// A scan that leaves out rows that match no row of the build side, of one join or of several.
#[derive(Clone)]
pub(super) struct BoundedScanExec {
    scan: Node,
    bounds: Vec<Bounds>,
    /// What reads the rows, for each partition or, where it is not known which rows of the build side they meet, once for all.
    chosen: Arc<Vec<OnceCell<Node>>>,
}

/// What one join says of the rows of its probe side.
#[derive(Clone)]
struct Bounds {
    /// The columns that are keys, each as a column of the scan and of its files.
    columns: Vec<Option<(Column, Column)>>,
    /// Whether group `i` of the scan meets partition `i` of the build side and no other.
    beside: bool,
    key_bounds: Arc<KeyBounds>,
}

impl BoundedScanExec {
    /// Of these columns of a scan, None for a key that is none; None if its rows may not be left out.
    pub(super) fn of(
        scan: &DataSourceExec,
        places: &[Option<usize>],
        beside: bool,
        key_bounds: &Arc<KeyBounds>,
    ) -> Option<Self> {
        let bounds = Bounds::of(scan, places, beside, key_bounds)?;
        let groups = scan.properties().partitioning.partition_count();
        Some(Self {
            scan: Arc::new(scan.clone()),
            bounds: vec![bounds],
            chosen: Arc::new((0..groups.max(1)).map(|_| OnceCell::new()).collect()),
        })
    }

    /// The same with the bounds of another join.
    pub(super) fn and(
        &self,
        places: &[Option<usize>],
        beside: bool,
        key_bounds: &Arc<KeyBounds>,
    ) -> Option<Self> {
        let bounds = Bounds::of(self.scan.downcast_ref()?, places, beside, key_bounds)?;
        let mut both = self.clone();
        both.bounds.push(bounds);
        Some(both)
    }

    /// What reads one partition of the rows: once chosen it stays, for its partitions may share files.
    async fn chosen(&self, partition: usize, context: &TaskContext) -> Result<Node> {
        let cell = match self.bounds.iter().any(|bounds| bounds.beside) {
            true => partition,
            false => 0,
        };
        let choose = async || {
            let mut conditions = vec![];
            for bounds in &self.bounds {
                conditions.extend(bounds.conditions(&self.scan, partition).await);
            }
            Ok(self
                .within(conditions, context)?
                .unwrap_or_else(|| self.scan.clone()))
        };
        match self.chosen.get(cell) {
            Some(cell) => cell.get_or_try_init(choose).await.cloned(),
            None => Ok(self.scan.clone()),
        }
    }

    /// The scan of the rows of which these conditions are true; None if there are none.
    fn within(
        &self,
        conditions: Vec<Arc<dyn PhysicalExpr>>,
        context: &TaskContext,
    ) -> Result<Option<Node>> {
        let Some(config) = config(&self.scan).filter(|_| !conditions.is_empty()) else {
            return Ok(None);
        };
        let condition = conjunction(conditions);
        let options = context.session_config().options();
        let bounded = config.try_pushdown_filters(vec![condition.clone()], options)?;
        let scan: Node = match bounded.updated_node {
            Some(source) => Arc::new(DataSourceExec::new(source)),
            None => self.scan.clone(),
        };
        Ok(Some(Arc::new(FilterExec::try_new(condition, scan)?)))
    }
}

impl Bounds {
    fn of(
        scan: &DataSourceExec,
        places: &[Option<usize>],
        beside: bool,
        key_bounds: &Arc<KeyBounds>,
    ) -> Option<Self> {
        let config = scan.data_source().downcast_ref::<FileScanConfig>()?;
        // The first of its rows would be others. And files that another group may read meet any partition of the build side.
        if config.limit.is_some() || (beside && config.output_partitioning.is_none()) {
            return None;
        }
        let schema = scan.schema();
        let column = |place: &Option<usize>| {
            let at = (*place)?;
            let of_scan = Column::new(schema.field(at).name(), at);
            let whole: Arc<dyn PhysicalExpr> = Arc::new(of_scan.clone());
            let whole = match config.file_source().projection() {
                Some(projection) => projection.unproject_expr(&whole).ok()?,
                None => whole,
            };
            let of_files = whole.downcast_ref::<Column>()?.clone();
            Some((of_scan, of_files))
        };
        let columns: Vec<_> = places.iter().map(column).collect();
        columns.iter().any(Option::is_some).then(|| Self {
            columns,
            beside,
            key_bounds: key_bounds.clone(),
        })
    }

    /// What is true of the rows of a partition that match the build side, of columns of which it leaves out enough.
    async fn conditions(&self, scan: &Node, partition: usize) -> Vec<Arc<dyn PhysicalExpr>> {
        let Some(config) = config(scan) else {
            return vec![];
        };
        let (partitions, groups) = match self.beside {
            true => (partition..partition + 1, partition..partition + 1),
            false => (self.key_bounds.all(), 0..config.file_groups.len()),
        };
        let bounds = self.key_bounds.bounds(partitions).await.unwrap_or_default();
        let mut conditions: Vec<Arc<dyn PhysicalExpr>> = vec![];
        for (column, min_max) in self.columns.iter().zip(&bounds) {
            let (Some((of_scan, of_files)), Some((least, most))) = (column, min_max) else {
                continue;
            };
            if leaves_out_enough(config, groups.clone(), of_files.name(), (least, most)) {
                let bound = |operator, value: &ScalarValue| {
                    let column = Arc::new(of_scan.clone());
                    Arc::new(BinaryExpr::new(column, operator, lit(value.clone())))
                };
                conditions.push(bound(Operator::GtEq, least));
                conditions.push(bound(Operator::LtEq, most));
            }
        }
        conditions
    }
}

/// What a scan of files reads.
fn config(scan: &Node) -> Option<&FileScanConfig> {
    let scan = scan.downcast_ref::<DataSourceExec>()?;
    scan.data_source().downcast_ref()
}

/// Whether a quarter at least of the range of a column in these files lies outside of the bounds. Of a column of which the manifest says
/// nothing only a single value is taken to leave out enough.
fn leaves_out_enough(
    config: &FileScanConfig,
    groups: Range<usize>,
    column: &str,
    (least, most): (&ScalarValue, &ScalarValue),
) -> bool {
    let width = |least: &ScalarValue, most: &ScalarValue| Some(number(most)? - number(least)?);
    let Some(within) = width(least, most) else {
        return false;
    };
    let known = || {
        let at = config
            .file_source()
            .table_schema()
            .table_schema()
            .index_of(column)
            .ok()?;
        let files = config.file_groups.get(groups)?.iter();
        let mut all: MinMax = None;
        for file in files.flat_map(|group| group.files()) {
            let column = file.statistics.as_ref()?.column_statistics.get(at)?;
            let of_file = (column.min_value.get_value()?, column.max_value.get_value()?);
            all = wider(all, Some((of_file.0.clone(), of_file.1.clone())));
        }
        let (least, most) = all?;
        width(&least, &most)
    };
    match known() {
        Some(all) => within * 4 <= all * 3,
        None => within == 0,
    }
}

impl Debug for BoundedScanExec {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for BoundedScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut Formatter<'_>) -> std::fmt::Result {
        let columns = self
            .bounds
            .iter()
            .flat_map(|of| of.columns.iter().flatten());
        let columns: Vec<&str> = columns.map(|(column, _)| column.name()).collect();
        write!(f, "BoundedScanExec: [{}]", columns.join(", "))
    }
}

impl ExecutionPlan for BoundedScanExec {
    fn name(&self) -> &str {
        "BoundedScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.scan.properties()
    }

    fn children(&self) -> Vec<&Node> {
        vec![&self.scan]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Node>) -> Result<Node> {
        Ok(Arc::new(Self {
            scan: children.swap_remove(0),
            ..Self::clone(&self)
        }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let this = self.clone();
        let rows = async move {
            let scan = this.chosen(partition, &context).await?;
            scan.execute(partition, context)
        };
        let rows = stream::once(rows).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}
