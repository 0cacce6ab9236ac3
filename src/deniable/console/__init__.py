"""The console: an audit programme in the browser, for people who have never seen a terminal."""
