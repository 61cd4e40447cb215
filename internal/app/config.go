package app

import (
	"telex/gateway"
	"telex/internal/config"
)

// LoadConfig finds, reads and validates the configuration. If the configuration has errors, the returned error
// contains all errors.
func LoadConfig(explicit string, env config.Env) (*config.Config, error) {
	path, err := config.Find(explicit, env)
	if err != nil {
		return nil, err
	}
	return checked(config.Load(path, env))
}

// checked checks a configuration for errors that the package config can't detect, because config imports no other packages of
// telex.
func checked(c *config.Config, err error) (*config.Config, error) {
	if err != nil {
		return nil, err
	}
	return c, c.CheckTexts(gateway.TextKeys(), gateway.CheckText)
}
