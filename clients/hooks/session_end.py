"""At the end of a session, or of a turn: saves the conversation."""

from stillhere_hook import run, save_messages

if __name__ == "__main__":
    run(lambda server, event: save_messages(server, event) and None)
