// @ts-check
/** Autoplay: the model makes one move after the other, at a speed that may change meanwhile. */

import { SPEEDS } from "./keys.js";

/** How many moves are asked for at once, where it goes as fast as it can. */
const AT_ONCE = 400;

export class Autoplay {
  /** @param {import("./play.js").Play} play the part that is played */
  constructor(play) {
    this.play = play;
    this.isOn = false;
    /** The number of the loop that may run. */ this.loop = 0;
  }

  /** Whether moves come too fast for values of each board. */
  get isFast() {
    return this.isOn && SPEEDS[this.play.settings.speed] === 0;
  }

  /** Whether moves come too fast to be read aloud. */
  get isSilent() {
    return this.isOn && this.play.settings.speed >= 4;
  }

  stop() {
    this.isOn = false;
  }

  /** Begins, or ends. With tiles by hand it makes one move: the next one waits for its tile. */
  async toggle() {
    const { play } = this;
    if (!play.session.game) return;
    this.loop += 1;
    const { loop } = this;
    this.isOn = !this.isOn && play.settings.spawns !== "manual";
    play.showAutoplay();
    if (play.settings.spawns === "manual") {
      play.bestMove();
      return;
    }
    if (this.isOn) play.advice.quiet();
    // A loop that another call has replaced ends at its next step.
    while (this.isOn && loop === this.loop && play.session.game.turn !== "over") {
      const begun = performance.now();
      const speed = SPEEDS[play.settings.speed];
      await play.auto(speed === 0 ? AT_ONCE : 1, speed > 0);
      const rest = speed === 0 ? 0 : 1000 / speed - (performance.now() - begun);
      await new Promise((done) => setTimeout(done, Math.max(rest, 0)));
    }
    if (loop !== this.loop) return;
    this.isOn = false;
    if (play.session.ended) return;
    play.showAutoplay();
    play.advice.ask();
  }
}
