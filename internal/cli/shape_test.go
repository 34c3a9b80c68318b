package cli

import (
	"encoding/json"
	"testing"
)

func TestShape(t *testing.T) {
	type file struct {
		Name string `json:"name"`
		Hash []byte `json:"hash,omitempty"`
	}
	type head struct {
		Path string `json:"path"`
		_    bool
	}
	type all struct {
		head
		Files []*file         `json:"files"`
		First *file           `json:"first,omitempty"`
		Raw   json.RawMessage `json:"raw"`
		Data  any             `json:"data"`
		Out   bool            `json:"-"`
	}
	want := "{all: [{path, files: [{name, hash: [...]}], first: {name, hash: [...]}, raw, data}], count}"
	if got := Shape(map[string]any{"count": 0, "all": []all{}}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
