// A view that fails shows an error in its place. The others continue.

import { Component, type ComponentChildren } from "preact";
import { Note } from "./controls.tsx";

export class Guarded extends Component<{ title: string; children: ComponentChildren }, { failure: string }> {
  override state = { failure: "" };

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ failure: error instanceof Error ? error.message : String(error) });
  }

  override render(): ComponentChildren {
    const { title, children } = this.props;
    return this.state.failure === "" ? children : <Note>{`${title} cannot be shown: ${this.state.failure}`}</Note>;
  }
}
