package amr

import "errors"

// ErrAmbiguous means that several blocks of a level have the same name.
var ErrAmbiguous = errors.New("ambiguous block name")
