package prefixdir

import (
	"errors"

	"blobio/internal/base/fault"
	"blobio/internal/scr/record"
	"blobio/scr/kvtree"
)

// keyNodes of nodes.scr.
const keyNodes = "NODES"

// ReadNodes returns how many nodes the last run had; ok is false if that is not known.
func (d *Dir) ReadNodes() (n int, ok bool, err error) {
	t, err := d.read(nodesName)
	if err != nil || !t.Has(keyNodes) {
		return 0, false, err
	}
	f := record.Fields{Tree: t, File: d.File(nodesName)}
	n = f.Int(keyNodes, 0)
	return n, f.Err() == nil, f.Err()
}

// WriteNodes says how many nodes the run has.
func (d *Dir) WriteNodes(n int) error {
	if n < 1 {
		return fault.Usage("%d nodes", n)
	}
	t, err := d.read(nodesName)
	if err != nil {
		t = kvtree.New() // one number: nothing is lost
	}
	t.SetInt(keyNodes, n)
	return d.write(nodesName, t)
}

// ReadAppConf returns the settings that the application made through the interface of the library (generation C).
// They are a tree of parameters: NAME/value/... as in a configuration file.
func (d *Dir) ReadAppConf() (*kvtree.Tree, error) { return d.read(appConfName) }

// WriteAppConf replaces the settings of the application.
func (d *Dir) WriteAppConf(t *kvtree.Tree) error { return d.write(appConfName, t) }

// Prerun removes the flush file and the nodes file, as is done at the start of an allocation: its caches are empty.
func (d *Dir) Prerun() error { return errors.Join(d.remove(flushName), d.remove(nodesName)) }
