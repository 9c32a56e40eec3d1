//! `/api/templates`.

use svc_core::TemplateId;
use svc_protocol::api::{NewTemplate, Template, TemplatePatch, Templates};

use super::handlers::handlers;

handlers! {
    list(app, page) -> Json<Templates> = app.templates.list(page).await?.into_list();
    create(app, caller, body: NewTemplate) -> Created<Template> = app.templates.create(&caller, body).await?;
    get(app, id: TemplateId) -> Json<Template> = app.templates.get(id).await?;
    patch(app, caller, id: TemplateId, body: TemplatePatch) -> Json<Template> =
        app.templates.patch(&caller, id, body).await?;
    delete(app, caller, id: TemplateId) -> NoContent = app.templates.delete(&caller, id).await?;
}
