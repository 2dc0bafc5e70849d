//! Users' functions in a session: kept by the lakes, or by the session itself, and called.

use super::change::{created, dropped};
use super::list::list;
use super::resolve::{Resolver, is_built_in};
use super::statement::{Called, Request, called};
use crate::engine::catalog::lakes::{AttachedLake, Catalog};
use crate::engine::{Engine, blocking};
use crate::error::{Error, Result};
use crate::lake::UserFunction;
use datafusion::dataframe::DataFrame;
use datafusion::execution::registry::FunctionRegistry;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, ScalarUDF};
use datafusion::sql::parser::Statement;
use std::sync::Arc;

/// Who keeps a function that goes with the session.
const SESSION: &str = "session";

impl Engine {
    /// The functions that users made, each with the lake that keeps it, or `session`; in the order in which they are looked for.
    ///
    /// # Errors
    /// Those of the lakes.
    pub async fn functions(&self) -> Result<Vec<(String, UserFunction)>> {
        let of_session = self.session_functions.functions().into_iter();
        let mut all: Vec<_> = of_session.map(|f| (SESSION.to_string(), f)).collect();
        let catalog = Catalog::new(&self.lakes, self.own.clone(), self.planner.clone());
        for lake in &self.lakes {
            let kept = self.kept(&catalog, &lake.name).await?;
            all.extend(kept.into_iter().map(|f| (lake.name.clone(), f)));
        }
        Ok(all)
    }

    /// The call of a function by its name, for a DataFrame: a user's function, `f` or `lake.f`, or any other of the session.
    ///
    /// # Errors
    /// [`Error::Unknown`] if there is no such function, those of the lake, and [`Error::Invalid`] if it cannot be what it says.
    pub async fn call(&self, name: &str, args: Vec<Expr>) -> Result<Expr> {
        let (lake, bare) = match name.split_once('.') {
            Some((lake, bare)) => (Some(lake.to_string()), bare),
            None => (None, name),
        };
        let state = self.context.state();
        if lake.is_none()
            && let Some(function) = state.scalar_functions().get(bare)
        {
            return Ok(function.call(args));
        }
        if lake.is_none()
            && let Some(function) = state.aggregate_functions().get(bare)
        {
            return Ok(function.call(args));
        }
        let catalog = Catalog::new(&self.lakes, self.own.clone(), self.planner.clone());
        let called = Called {
            lake,
            name: bare.to_string(),
            key: name.to_string(),
        };
        let mut found = self.called(vec![called], &catalog).await?;
        match found.pop() {
            Some(function) => Ok(function.call(args)),
            None => {
                let known = self.error_context().functions;
                let known = known.iter().map(String::as_str);
                Err(Error::unknown("function", name, known))
            }
        }
    }

    /// Makes the users' functions that a statement calls known to the state that plans it. They are those of the version of each
    /// lake that `catalog` sees. A lake is looked at only if the statement calls what nobody else has.
    pub(in crate::engine) async fn register_called(
        &self,
        statement: &Statement,
        catalog: &Catalog,
        state: &mut SessionState,
    ) -> Result<()> {
        let mut called = called(statement);
        called.retain(|called| called.lake.is_some() || !is_built_in(state, &called.name));
        if called.is_empty() {
            return Ok(());
        }
        for function in self.called(called, catalog).await? {
            state.register_udf(function).map_err(|e| self.error(e))?;
        }
        Ok(())
    }

    /// Those of some functions that are users'.
    async fn called(&self, called: Vec<Called>, catalog: &Catalog) -> Result<Vec<Arc<ScalarUDF>>> {
        let session_functions = self.session_functions.functions();
        let mut found = vec![];
        for Called { lake, name, key } in called {
            let of = lake.as_deref().or(self.first());
            let kept = match of {
                Some(of) => self.kept(catalog, of).await?,
                None => vec![],
            };
            let keepers = match lake {
                None => vec![session_functions.as_slice(), &kept],
                Some(_) => vec![kept.as_slice()],
            };
            found.extend(Resolver::new(&self.planner, keepers).function(&name, &key)?);
        }
        Ok(found)
    }

    /// What a statement about functions does; its answer.
    ///
    /// # Errors
    /// As `CREATE FUNCTION` and `DROP FUNCTION`: see `change`.
    pub(in crate::engine) async fn about_functions(&self, request: Request) -> Result<DataFrame> {
        match request {
            Request::Show(pattern) => {
                let users = self.functions().await?;
                let batch = list(&users, &self.context.state(), pattern.as_ref())?;
                return self.context.read_batch(batch).map_err(|e| self.error(e));
            }
            Request::Create {
                lake,
                function,
                replace,
                temporary,
            } => self.create(lake, function, replace, temporary).await?,
            Request::Drop { names, if_exists } => self.drop(names, if_exists).await?,
        }
        let nothing = LogicalPlanBuilder::empty(false).build();
        let nothing = nothing.map_err(|e| self.error(e))?;
        Ok(DataFrame::new(self.context.state(), nothing))
    }

    async fn create(
        &self,
        lake: Option<String>,
        function: UserFunction,
        replace: bool,
        temporary: bool,
    ) -> Result<()> {
        if lake.is_some() && temporary {
            let why = "a temporary function is the session's; leave out the name of the lake";
            return Err(Error::Invalid(why.into()));
        }
        let planner = self.planner.clone();
        let Some(source) = self.keeper(lake)?.filter(|_| !temporary) else {
            let behind = match self.first() {
                Some(first) => {
                    let catalog = Catalog::new(&self.lakes, self.own.clone(), self.planner.clone());
                    self.kept(&catalog, first).await?
                }
                None => vec![],
            };
            let mut session_functions = self.session_functions.functions.write();
            let session_functions = session_functions
                .as_mut()
                .unwrap_or_else(|poison| poison.get_mut());
            **session_functions =
                created(session_functions, &behind, &function, replace, &planner)?;
            return Ok(());
        };
        let lake = source.lake_to_change("make functions", ", or make them TEMPORARY")?;
        let operation = format!("create function {}", function.name);
        let change = move || {
            lake.change_functions(&operation, |have| {
                created(have, &[], &function, replace, &planner)
            })
        };
        blocking(change).await.map(|_| ())
    }

    async fn drop(&self, names: Vec<(Option<String>, String)>, if_exists: bool) -> Result<()> {
        let lake = names.first().and_then(|(lake, _)| lake.clone());
        if names.iter().any(|(other, _)| *other != lake) {
            let why = "DROP FUNCTION drops functions of one lake at a time";
            return Err(Error::Invalid(why.into()));
        }
        let names: Vec<String> = names.into_iter().map(|(_, name)| name).collect();
        let planner = self.planner.clone();
        // What the session keeps is what a name alone means.
        let of_session = |name: &String| {
            self.session_functions
                .functions()
                .iter()
                .any(|f| f.name == *name)
        };
        let source = self.keeper(lake.clone())?;
        let Some(source) = source.filter(|_| lake.is_some() || !names.iter().all(of_session))
        else {
            let mut session_functions = self.session_functions.functions.write();
            let session_functions = session_functions
                .as_mut()
                .unwrap_or_else(|poison| poison.get_mut());
            **session_functions = dropped(session_functions, &names, if_exists, &planner)?;
            return Ok(());
        };
        let lake = source.lake_to_change("drop functions", "")?;
        let operation = format!("drop function {}", names.join(", "));
        let change = move || {
            lake.change_functions(&operation, |have| {
                dropped(have, &names, if_exists, &planner)
            })
        };
        blocking(change).await.map(|_| ())
    }

    /// The lake that a name alone means; None in a session without one.
    fn first(&self) -> Option<&str> {
        self.lakes.first().map(|lake| lake.name.as_str())
    }

    /// The lake of that name, or the first; None if there is no lake.
    fn keeper(&self, lake: Option<String>) -> Result<Option<&Arc<AttachedLake>>> {
        let Some(name) = lake else {
            return Ok(self.lakes.first());
        };
        let found = self.lakes.iter().find(|source| source.name == name);
        let known = self.lakes.iter().map(|source| source.name.as_str());
        found
            .map(Some)
            .ok_or_else(|| Error::unknown("lake", &name, known))
    }

    /// The functions of a lake, at the version that the catalog sees; none if there is no such lake.
    async fn kept(&self, catalog: &Catalog, lake: &str) -> Result<Vec<UserFunction>> {
        let (catalog, name) = (catalog.clone(), lake.to_string());
        let of = name.clone();
        let kept = blocking(move || catalog.functions(&of)).await?;
        if self.first() == Some(name.as_str()) {
            self.session_functions.learn_names(&kept);
        }
        Ok(kept)
    }
}
