//! Names to tables: each lake is a schema, its tables are built when a query names them.
//!
//! A query sees one version of each lake, whatever is committed while it is planned or runs: it resolves its names in a
//! [`Catalog`] of its own, whose lakes are [`LakeAtVersion`] at the first name that is looked up.

use super::snapshot_tables::{ListedTable, SnapshotTables};
use super::system_tables::LakeRows;
use super::views::{VIEWS, View, view};
use crate::engine::error::external;
use crate::engine::scan::local_store::LocalFiles;
use crate::engine::session::names::CATALOG;
use crate::error::{Error, Result};
use crate::lake::{Lake, Store, UserFunction};
use crate::table::{Partition, TABLES, table};
use async_trait::async_trait;
use chrono_tz::Tz;
use datafusion::catalog::{
    CatalogProvider, CatalogProviderList, MemoryCatalogProviderList, MemorySchemaProvider,
    SchemaProvider, TableProvider,
};
use datafusion::common::{DataFusionError, exec_datafusion_err, plan_err};
use datafusion::datasource::ViewTable;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{DdlStatement, LogicalPlan, TableType};
use datafusion::object_store::ObjectStore;
use std::collections::BTreeMap;
use std::fmt::{Debug, Formatter};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

/// A lake under its name.
pub(crate) struct AttachedLake {
    pub(crate) name: String,
    lake: Arc<Lake>,
    /// The version asked for; the newest if None.
    version: Option<u64>,
    groups: usize,
    url: ObjectStoreUrl,
    /// What the last query saw, for the next one of the same version.
    last: Mutex<Option<Arc<SnapshotTables>>>,
}

impl AttachedLake {
    /// # Errors
    /// [`Error::Invalid`] if DataFusion refuses the lake's address.
    pub(crate) fn new(
        name: String,
        lake: Arc<Lake>,
        version: Option<u64>,
        groups: usize,
    ) -> Result<Self> {
        let url = match lake.store() {
            Store::Local(_) => ObjectStoreUrl::parse("file:///"),
            Store::Memory(_) => ObjectStoreUrl::parse(format!("memory://{}/", lake.id())),
        };
        let url = url.map_err(|e| Error::Invalid(format!("lake `{name}`: {e}")))?;
        Ok(Self {
            name,
            lake,
            version,
            groups,
            url,
            last: Mutex::default(),
        })
    }

    /// Under which address its files lie, and what reads them.
    pub(crate) fn store(&self) -> (&ObjectStoreUrl, Arc<dyn ObjectStore>) {
        match self.lake.store() {
            Store::Local(_) => (&self.url, Arc::new(LocalFiles::default())),
            Store::Memory(store) => (&self.url, store.clone()),
        }
    }

    /// The lake, for something that makes a new version of it; `instead` is what else a user can do where that cannot be.
    ///
    /// # Errors
    /// [`Error::Lake`] if one version of it is asked.
    pub(crate) fn lake_to_change(&self, what: &str, instead: &str) -> Result<Arc<Lake>> {
        match self.version {
            None => Ok(self.lake.clone()),
            Some(version) => Err(Error::Lake {
                lake: self.lake.root().unwrap_or(self.name.as_ref()).into(),
                reason: format!(
                    "cannot {what} in version {version}, for versions never change; leave out --version{instead}"
                ),
            }),
        }
    }

    /// The same lake at the version that it has now, and this version.
    ///
    /// # Errors
    /// Those of the lake.
    pub(crate) fn pinned(&self) -> Result<(Self, u64)> {
        let contents = self.contents()?;
        let version = contents.version.version();
        let pinned = Self {
            name: self.name.clone(),
            lake: self.lake.clone(),
            version: Some(version),
            groups: self.groups,
            url: self.url.clone(),
            last: Mutex::new(Some(contents)),
        };
        Ok((pinned, version))
    }

    /// Its directory; None if it is in memory.
    pub(crate) fn root(&self) -> Option<PathBuf> {
        self.lake.root().map(Path::to_path_buf)
    }

    /// The zone of the site, in the settings of the version that is asked.
    ///
    /// # Errors
    /// Those of the lake.
    pub(crate) fn zone(&self) -> Result<Tz> {
        self.contents()?.version.site()?.zone()
    }

    fn contents(&self) -> Result<Arc<SnapshotTables>> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.as_ref().map(|contents| &contents.version);
        let version = self.lake.version_or(self.version, known)?;
        let same = |contents: &&Arc<SnapshotTables>| Arc::ptr_eq(&contents.version, &version);
        if let Some(contents) = last.as_ref().filter(same) {
            return Ok(contents.clone());
        }
        let contents = SnapshotTables::new(version, self.url.clone(), self.groups)?;
        let contents = Arc::new(contents);
        *last = Some(contents.clone());
        Ok(contents)
    }
}

/// A lake at one version, which is found at the first look.
pub(crate) struct LakeAtVersion {
    lake: Arc<AttachedLake>,
    contents: OnceLock<Arc<SnapshotTables>>,
}

impl LakeAtVersion {
    fn contents(&self) -> Result<Arc<SnapshotTables>> {
        if let Some(contents) = self.contents.get() {
            return Ok(contents.clone());
        }
        let contents = self.lake.contents()?;
        Ok(self.contents.get_or_init(|| contents).clone())
    }

    fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !TABLES.iter().any(|(known, _)| *known == name) {
            return Ok(None);
        }
        let (contents, table) = (self.contents()?, table(name)?);
        if table.partition == Partition::Manifest {
            let (schema, version) = (table.schema.clone(), contents.version.clone());
            return Ok(Some(match name {
                "lake_input" => Arc::new(LakeRows::new(schema, move || version.input_batch())),
                "lake_file" => Arc::new(LakeRows::new(schema, move || version.file_batch())),
                "lake_version" => Arc::new(LakeRows::new(schema, move || version.version_batch())),
                "lake_mount" => Arc::new(LakeRows::new(schema, move || version.mount_batch())),
                _ => return Ok(None),
            }));
        }
        Ok(Some(Arc::new(ListedTable::new(contents, table))))
    }
}

/// What a session adds to its lakes: `CREATE TABLE`, `CREATE VIEW`, `CREATE SCHEMA`. Gone with the session.
#[derive(Debug, Default)]
pub(crate) struct SessionTables {
    schemas: RwLock<BTreeMap<String, Arc<dyn SchemaProvider>>>,
}

impl SessionTables {
    fn get(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        self.schemas
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned()
    }

    fn names(&self) -> Vec<String> {
        self.schemas
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .keys()
            .cloned()
            .collect()
    }

    pub(crate) fn insert(
        &self,
        name: &str,
        schema: Arc<dyn SchemaProvider>,
    ) -> Option<Arc<dyn SchemaProvider>> {
        self.schemas
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(name.to_string(), schema)
    }

    fn remove(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        self.schemas
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(name)
    }
}

/// All names of one query.
#[derive(Clone)]
pub(crate) struct Catalog {
    lakes: Vec<Arc<LakeAtVersion>>,
    own: Arc<SessionTables>,
    /// Plans the SQL of views; it has functions and options, but no tables.
    planner: Arc<SessionState>,
}

impl Catalog {
    /// The lakes as they are from now on, each not looked at yet.
    pub(crate) fn new(
        lakes: &[Arc<AttachedLake>],
        own: Arc<SessionTables>,
        planner: Arc<SessionState>,
    ) -> Self {
        for lake in lakes {
            if own.get(&lake.name).is_none() {
                own.insert(&lake.name, Arc::new(MemorySchemaProvider::new()));
            }
        }
        let pin = |lake: &Arc<AttachedLake>| {
            Arc::new(LakeAtVersion {
                lake: lake.clone(),
                contents: OnceLock::new(),
            })
        };
        Self {
            lakes: lakes.iter().map(pin).collect(),
            own,
            planner,
        }
    }

    /// As DataFusion wants it.
    pub(crate) fn list(self) -> Arc<dyn CatalogProviderList> {
        let list = MemoryCatalogProviderList::new();
        list.register_catalog(CATALOG.to_string(), Arc::new(self));
        Arc::new(list)
    }

    /// The users' functions of a lake; none if there is no such lake.
    ///
    /// # Errors
    /// Those of the lake.
    pub(crate) fn functions(&self, lake: &str) -> Result<Vec<UserFunction>> {
        let lake = self.lakes.iter().find(|pinned| pinned.lake.name == lake);
        let contents = lake.map(|lake| lake.contents()).transpose()?;
        Ok(contents.map_or(vec![], |contents| {
            contents.version.manifest().functions.clone()
        }))
    }

    fn lake(&self, name: &str) -> Option<LakeSchema> {
        let lake = self.lakes.iter().find(|lake| lake.lake.name == name)?;
        Some(LakeSchema {
            lake: lake.clone(),
            own: self.own.get(name)?,
            catalog: self.clone(),
        })
    }
}

impl Debug for Catalog {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.schema_names()).finish()
    }
}

impl CatalogProvider for Catalog {
    fn schema_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self
            .lakes
            .iter()
            .map(|lake| lake.lake.name.clone())
            .collect();
        let own = self.own.names();
        names.extend(
            own.into_iter()
                .filter(|name| self.lakes.iter().all(|lake| lake.lake.name != *name)),
        );
        names
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        match self.lake(name) {
            Some(lake) => Some(Arc::new(lake)),
            None => self.own.get(name),
        }
    }

    fn register_schema(
        &self,
        name: &str,
        schema: Arc<dyn SchemaProvider>,
    ) -> datafusion::common::Result<Option<Arc<dyn SchemaProvider>>> {
        match self.lake(name) {
            Some(_) => plan_err!("`{name}` is a lake"),
            None => Ok(self.own.insert(name, schema)),
        }
    }

    fn deregister_schema(
        &self,
        name: &str,
        cascade: bool,
    ) -> datafusion::common::Result<Option<Arc<dyn SchemaProvider>>> {
        match (self.lake(name), self.own.get(name)) {
            (Some(_), _) => plan_err!("`{name}` is a lake"),
            (None, Some(schema)) if !cascade && !schema.table_names().is_empty() => {
                plan_err!("schema `{name}` is not empty; add CASCADE to drop its tables too")
            }
            _ => Ok(self.own.remove(name)),
        }
    }
}

/// Tables and views of one lake, and what the session put beside them.
#[derive(Clone)]
struct LakeSchema {
    lake: Arc<LakeAtVersion>,
    own: Arc<dyn SchemaProvider>,
    catalog: Catalog,
}

/// Whether each lake has a table or view of that name.
pub(in crate::engine) fn of_a_lake(name: &str) -> bool {
    TABLES.iter().any(|(known, _)| *known == name) || view(name).is_some()
}

/// DataFusion's own words for it would be that the table does not exist.
///
/// # Errors
/// [`Error::Invalid`] if the plan drops what a lake has.
pub(crate) fn refuse_drop(plan: &LogicalPlan) -> Result<()> {
    let name = match plan {
        LogicalPlan::Ddl(DdlStatement::DropTable(drop)) => drop.name.table(),
        LogicalPlan::Ddl(DdlStatement::DropView(drop)) => drop.name.table(),
        _ => return Ok(()),
    };
    match of_a_lake(name) {
        true => Err(Error::Invalid(format!(
            "`{name}` belongs to the lake and cannot be dropped"
        ))),
        false => Ok(()),
    }
}

impl LakeSchema {
    async fn view(&self, view: &View) -> datafusion::common::Result<Arc<dyn TableProvider>> {
        let mut state = self.catalog.planner.as_ref().clone();
        state.config_mut().options_mut().catalog.default_schema = self.lake.lake.name.clone();
        state.register_catalog_list(self.catalog.clone().list());
        let plan = state.create_logical_plan(&view.sql).await?;
        Ok(Arc::new(ViewTable::new(
            plan,
            Some(view.sql.trim().to_string()),
        )))
    }
}

impl Debug for LakeSchema {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "LakeSchema({})", self.lake.lake.name)
    }
}

#[async_trait]
impl SchemaProvider for LakeSchema {
    fn table_names(&self) -> Vec<String> {
        let mut names: Vec<String> = TABLES.iter().map(|(name, _)| name.to_string()).collect();
        names.extend(VIEWS.iter().map(|(name, _)| name.to_string()));
        names.extend(self.own.table_names());
        names
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        if let Some(view) = view(name) {
            return Ok(Some(self.view(view).await?));
        }
        if !of_a_lake(name) {
            return self.own.table(name).await;
        }
        // The first look at a lake reads its manifest.
        let (lake, name) = (self.lake.clone(), name.to_string());
        let table = tokio::task::spawn_blocking(move || lake.table(&name))
            .await
            .map_err(|e| exec_datafusion_err!("{e}"))?;
        table.map_err(external)
    }

    async fn table_type(&self, name: &str) -> datafusion::common::Result<Option<TableType>> {
        match (view(name), of_a_lake(name)) {
            (Some(_), _) => Ok(Some(TableType::View)),
            (None, true) => Ok(Some(TableType::Base)),
            (None, false) => self.own.table_type(name).await,
        }
    }

    fn register_table(
        &self,
        name: String,
        table: Arc<dyn TableProvider>,
    ) -> datafusion::common::Result<Option<Arc<dyn TableProvider>>> {
        match of_a_lake(&name) {
            true => plan_err!("`{name}` belongs to the lake and cannot be replaced"),
            false => self.own.register_table(name, table),
        }
    }

    fn deregister_table(
        &self,
        name: &str,
    ) -> datafusion::common::Result<Option<Arc<dyn TableProvider>>> {
        match of_a_lake(name) {
            true => plan_err!("`{name}` belongs to the lake and cannot be dropped"),
            false => self.own.deregister_table(name),
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        of_a_lake(name) || self.own.table_exist(name)
    }
}
