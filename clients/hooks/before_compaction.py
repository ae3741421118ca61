"""Before the context is compacted: saves the conversation, and freezes the project's handoff."""

from stillhere_hook import project_id, run, save_messages


def save(server, event):
    save_messages(server, event)
    server.call("POST", f"/projects/{project_id(server, event)}/handoff/freeze", {})


if __name__ == "__main__":
    run(save)
