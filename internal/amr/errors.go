package amr

import "errors"

// ErrAmbiguous means that several blocks of the level share the name.
var ErrAmbiguous = errors.New("ambiguous block name")
