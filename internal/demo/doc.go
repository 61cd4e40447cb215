// Package demo implements `telex demo`. The package runs the built binary as a daemon in a process of its own, between
// stand-ins of four chat platforms, of a house and of model providers. A web page shows the chats and the daemon, and
// has controls that cause failures.
//
//	demo.go       starts and stops everything
//	daemon.go     the daemon's process: killing, restarting, and reading the daemon's admin address
//	gate.go       the proxy in front of the first model, which can make it fail
//	place.go      the common part of all places: messages as clients show them, limits, faults
//	telegram.go, discord.go, slack.go, whatsapp.go, program.go   one place each
//	markup.go     the markup of platforms with their own Markdown; entities.go parses Telegram's entities
//	page.go       the server of the page; fragments.go its changing parts
//	page/         templates, script and style
//
// # Decisions
//
// This package renders the page, because the page shows five platforms, and each stand-in imitates only one platform.
// (Telegram's stand-in also has a page of its own.) A place converts the records of its stand-in into one common form of
// message. One HTML template renders the messages of all places, and style.css makes each column look like the platform's
// client. The server renders all parts of the page and sends the changed ones as server-sent events. The script only inserts
// the parts of the page that the server sends.
//
// The package parses the visible markup by its own rules. The package shares no code with internal/markup and with the
// adapters' dialects. So a mistake in the adapters' code becomes visible on the page.
package demo
