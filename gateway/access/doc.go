// Package access decides who may talk to the bot, and how much. A Policy grants access to people listed in the
// configuration, and to people whose pairing request an operator or an admin approved. A Meter limits the usage
// per person and in total.
//
// The types Policy and Meter are safe for concurrent use. A message from a person without access is neither stored
// nor shown to anybody. If a person asks for access, only the person's id and name are stored.
package access
