"""Before the context is compacted: saves the conversation, and freezes the project's handoff."""

from stillhere_hook import Away, project_id, run, save_messages


def save(server, event):
    save_messages(server, event)
    try:
        server.call("POST", f"/projects/{project_id(server, event)}/handoff/freeze", {})
    except Away as refusal:
        # Most projects have no handoff: that is no fault.
        if refusal.code != "nothing_to_freeze":
            raise


if __name__ == "__main__":
    run(save)
