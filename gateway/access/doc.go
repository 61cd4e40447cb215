// Package access decides who may talk to the bot, and how much. A Policy grants access to people listed in the
// configuration, and to people whose pairing request an operator or an admin approved. A Meter limits the usage
// per person and in total.
//
// Both are safe for concurrent use. Messages from strangers are neither stored nor shown to anybody: of a person
// who asks for access only the id and the name are stored.
package access
