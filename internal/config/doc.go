// Package config reads telex's configuration. The package combines one YAML file, the environment and secret files
// into one validated [Config]. If there are errors, the package returns all errors, each with file, line, column and a
// hint.
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
// Parsing has three steps. The text is parsed into YAML nodes. The nodes are decoded strictly into a Config that holds
// the defaults (decode.go, scalar.go). Then rules that involve several keys are checked (validate.go). ${NAME} is
// expanded in each scalar separately, so that the value of a variable can't add YAML syntax (expand.go). An error
// quotes text of the file only if this text can't be a secret.
package config
