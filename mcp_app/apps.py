from django.apps import AppConfig


class McpConfig(AppConfig):
    name = "mcp_app"
    verbose_name = "MCP server"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import mcp_app.activity.admin  # noqa: F401 - importing registers its pages
        from mcp_app.activity.queries import clients_of_keys
        from mcp_app.activity.services import due_rows
        from sessions_app.core.extension import Extension, Tab, register

        register(
            Extension(
                name="mcp",
                due_rows=due_rows,
                key_clients=clients_of_keys,
                urls="mcp_app.urls",
                tabs=(Tab("agents", "Agents"),),
            )
        )
