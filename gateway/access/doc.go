// Package access decides who may talk to the bot, and how much. A Policy lets people in: those
// whom the configuration names, and those whom an operator or an admin let in by the code that
// they were given when they wrote first. A Meter bounds what each of them, and all together, use.
//
// Both are safe for concurrent use. What strangers write is neither kept nor shown to anybody:
// of a person who asks for access only the id and the name are stored.
package access
