// Package config reads telex's configuration. It combines one YAML file, the environment and secret files into one
// validated [Config]. If there are errors, it returns all of them, each with file, line, column and a hint.
//
// The struct types of this package and their tags are the only description of the schema:
//
//	yaml:"key"        the key in the file
//	enum:"a|b"        the allowed values
//	min, max          inclusive bounds of a number
//	unit:"seconds"    the unit of a number, for error messages
//	required:"true"   the key must be present and not empty
//	allow:"empty"     a secret may be empty
//	allow:"zero"      a duration may be 0
//
// The steps are: parse the text into YAML nodes, decode the nodes strictly into a Config that holds the defaults
// (decode.go, scalar.go), and check rules that involve several keys (validate.go). ${NAME} is expanded in each scalar
// separately, so that a value can never change the structure (expand.go). Errors show text of the file only where it
// can't be a secret.
package config
