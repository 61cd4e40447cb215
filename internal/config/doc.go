// Package config reads telex's one configuration file: YAML, the environment and secret files become one
// validated [Config], or a list of every problem with its file, line, column and a hint.
//
// The schema is the struct types of this package and their tags; there is no second description of it:
//
//	yaml:"key"        the key in the file
//	enum:"a|b"        the only values
//	min, max          bounds of a number, both included
//	unit:"seconds"    what a bare number means, said when something else was given
//	required:"true"   the key must be there and not be empty
//	allow:"empty"     a secret may be empty
//	allow:"zero"      a duration may be 0
//
// The order of work: the bytes are parsed into YAML nodes, the nodes are decoded strictly over the defaults
// (decode.go, scalar.go), with ${NAME} filled in per scalar so that a value can never change the structure
// (expand.go), and rules that span keys are checked (validate.go). Errors show text of the file only where it can't be a secret.
package config
