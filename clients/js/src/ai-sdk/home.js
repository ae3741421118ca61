/** Where an answer belongs: the session, and its epoch, in which it was asked for. The page may turn to another one while it comes. */
import { partsOf } from "./answers-transport.js";

/**
 * @import { Connection, Message } from "#browser"
 */

export class Home {
  /** @param {Connection} connection @param {string | null} asked stored id of the message that is answered */
  constructor(connection, asked) {
    this.connection = connection;
    this.asked = asked;
    this.place = partsOf(connection).client.place;
    /** The session is still shown, without the question. */
    this.isCleared = false;
    /** The answer itself is there, and has its place. */
    this.holdsAnswer = false;
    // A chat that was begun without the network may join a session that is there already.
    this.unheard = connection.on("*", () => this._look(""));
  }

  /** Does the page show it? @param {string} id of the answer */
  isShown(id) {
    const shown = this._look(id);
    const present = partsOf(this.connection).client.place;
    const isSession = this.place.client === present.client && this.place.session === present.session;
    this.isCleared = isSession && !shown && this.place.epoch < present.epoch;
    const isShown = isSession && !this.isCleared;
    // Where it is shown it is saved.
    this.holdsAnswer ||= isShown;
    return isShown;
  }

  /** Was there a message with this id? @param {string} id */
  knows(id) {
    return this.place.client.knows(id);
  }

  /** Saves the answer there. @param {Message} answer */
  save(answer) {
    const { asked, place } = this;
    const isNew = !this.holdsAnswer && asked !== null && asked !== answer.id;
    place.client.saveIn(place, isNew ? { ...answer, parent_id: asked } : answer);
  }

  end() {
    this.unheard();
  }

  /** @param {string} id @returns {boolean} whether the page shows the question or the answer */
  _look(id) {
    const { client } = this.place;
    const shown = client.shows(id) || client.shows(this.asked ?? "");
    if (shown) this.place = client.place;
    return shown;
  }
}
