package app

import (
	"telex/gateway"
	"telex/internal/config"
)

// LoadConfig finds, reads and checks the configuration, with every problem in one error.
func LoadConfig(explicit string, env config.Env) (*config.Config, error) {
	path, err := config.Find(explicit, env)
	if err != nil {
		return nil, err
	}
	c, err := config.Load(path, env)
	if err != nil {
		return nil, err
	}
	return c, c.CheckTexts(gateway.TextKeys(), gateway.CheckText)
}
