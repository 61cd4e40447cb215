// Package config reads telex's configuration. The package combines a YAML file, environment variables and secret files
// into one validated [Config]. If the configuration has errors, the package returns all of them, each with file, line,
// column and a hint.
//
// The struct types of this package and their tags define the schema:
//
//	yaml:"key"        the key in the file
//	enum:"a|b"        the allowed values
//	min, max          inclusive bounds of a number
//	unit:"seconds"    the unit of a number, for error messages
//	required:"true"   the key must be present and not empty
//	allow:"empty"     a secret may be empty
//	allow:"zero"      a duration may be 0
//
// Parsing has three steps. First, the text is parsed into YAML nodes. Second, the nodes are decoded strictly into a
// Config that already contains the defaults (decode.go, scalar.go). Third, rules that involve several keys are checked
// (validate.go). ${NAME} is expanded in each scalar separately, so that the value of a variable can't add YAML syntax
// (expand.go). An error quotes text of the file only if this text can't be a secret.
package config
