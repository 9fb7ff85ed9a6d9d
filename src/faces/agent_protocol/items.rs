//! `/store`: long-term memory, documents under a namespace and a key.

use axum::extract::State;
use axum::http::StatusCode;

use super::wire::{
    ErrorResponse, Item, ItemQuery, ListNamespaceResponse, SearchItemsResponse, StoreDeleteRequest,
    StoreListNamespacesRequest, StorePutRequest, StoreSearchRequest,
};
use crate::app::{App, Caller};
use crate::domain::item::Labels;
use crate::http::{Body, MaybeBody, Params, Problem};

/// Create or replace an item
#[utoipa::path(put, path = "/store/items", tag = "Store",
    request_body(content = StorePutRequest),
    responses((status = 204, description = "It is stored")))]
pub(super) async fn put_item(
    State(app): State<App>,
    who: Caller,
    Body(put): Body<StorePutRequest>,
) -> Result<StatusCode, Problem> {
    let namespace = Labels::new("namespace", put.namespace)?;
    app.item_put(&who, &namespace, &put.key, &put.value).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Delete an item
#[utoipa::path(delete, path = "/store/items", tag = "Store",
    request_body(content = StoreDeleteRequest),
    responses(
        (status = 204, description = "It is gone"),
        (status = 404, description = "There is no such item", body = ErrorResponse),
    ))]
pub(super) async fn delete_item(
    State(app): State<App>,
    who: Caller,
    Body(delete): Body<StoreDeleteRequest>,
) -> Result<StatusCode, Problem> {
    let namespace = Labels::new("namespace", delete.namespace.unwrap_or_default())?;
    app.item_delete(&who, &namespace, &delete.key).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get an item
#[utoipa::path(get, path = "/store/items", tag = "Store",
    params(ItemQuery),
    responses(
        (status = 200, description = "The item", body = Item),
        (status = 400, description = "The request cannot be read", body = ErrorResponse),
        (status = 404, description = "There is no such item", body = ErrorResponse),
    ))]
pub(super) async fn get_item(
    State(app): State<App>,
    who: Caller,
    Params(ItemQuery { key, namespace }): Params<ItemQuery>,
) -> Result<Body<Item>, Problem> {
    Ok(Body(app.item_get(&who, &namespace, &key).await?.into()))
}

/// List items
///
/// Those that were changed last come first.
#[utoipa::path(post, path = "/store/items/search", tag = "Store",
    request_body(content = StoreSearchRequest),
    responses((status = 200, description = "The items", body = SearchItemsResponse)))]
pub(super) async fn search_items(
    State(app): State<App>,
    who: Caller,
    MaybeBody(search): MaybeBody<StoreSearchRequest>,
) -> Result<Body<SearchItemsResponse>, Problem> {
    let (prefix, conditions) = (search.prefix()?, search.conditions()?);
    let found = app.item_search(&who, &prefix, &conditions, search.page()?).await?;
    Ok(Body(SearchItemsResponse { items: found.into_iter().map(Into::into).collect() }))
}

/// List namespaces
///
/// Each once, in order.
#[utoipa::path(post, path = "/store/namespaces", tag = "Store",
    request_body(content = StoreListNamespacesRequest),
    responses((status = 200, description = "The namespaces", body = ListNamespaceResponse)))]
pub(super) async fn list_namespaces(
    State(app): State<App>,
    who: Caller,
    MaybeBody(list): MaybeBody<StoreListNamespacesRequest>,
) -> Result<Body<ListNamespaceResponse>, Problem> {
    let page = list.page()?;
    let (prefix, suffix, max_depth) = list.filters()?;
    let found = app.item_namespaces(&who, &prefix.0, &suffix.0, max_depth, page).await?;
    Ok(Body(ListNamespaceResponse(found.into_iter().map(|labels| labels.0).collect())))
}
