package app

import (
	"telex/gateway"
	"telex/internal/config"
)

// LoadConfig finds, reads and validates the configuration. Its error contains all problems.
func LoadConfig(explicit string, env config.Env) (*config.Config, error) {
	path, err := config.Find(explicit, env)
	if err != nil {
		return nil, err
	}
	return checked(config.Load(path, env))
}

// checked adds the checks that package config can't make, because it does not import other packages.
func checked(c *config.Config, err error) (*config.Config, error) {
	if err != nil {
		return nil, err
	}
	return c, c.CheckTexts(gateway.TextKeys(), gateway.CheckText)
}
