// Package demo is `telex demo`: the built binary as a daemon in a process of its own, between stand-ins of four chat
// platforms, of a house and of model providers, and a page on which a person sees and disturbs all of it.
//
//	demo.go       starts and stops everything
//	daemon.go     the daemon's process: kill, restart, what its admin address says
//	gate.go       the proxy in front of the first model, which can make it fail
//	place.go      what all places have in common: messages as their clients draw them, limits, faults
//	telegram.go, discord.go, slack.go, whatsapp.go, program.go   one place each
//	markup.go     the markup of platforms that have Markdown of their own; entities.go that of Telegram
//	page.go       the server of the page; fragments.go its changing parts
//	page/         templates, script and style
//
// # Decisions
//
// The page is drawn here and not by the stand-ins, though Telegram's stand-in has a page of its own, which stays: a page that
// shows five platforms must know all of them, and a stand-in knows only itself. A place turns what its stand-in recorded into
// one form of message; a single template draws these, and style.css makes each column look like its platform's client. The
// server draws every part, and sends those that changed as server-sent events, so that the script only puts them where they
// belong.
//
// This package parses what it shows with rules of its own, not with internal/markup or an adapter's dialect, so that a mistake
// in those is visible on the page.
package demo
