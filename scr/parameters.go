package scr

import "blobio/internal/scr/config"

type (
	// Params are the parameters of SCR in effect: Get, Int, ... return their values, Config sets them as SCR_Config does.
	Params = config.Set
	// ParamSources are the places from which LoadParams takes parameters.
	ParamSources = config.Sources
)

// LoadParams reads the parameters from the environment and the configuration files, as SCR does.
func LoadParams(from ParamSources) (*Params, error) { return config.Load(from) }
