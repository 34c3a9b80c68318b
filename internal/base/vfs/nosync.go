package vfs

// NoSync returns a view of under in which syncs do nothing: for what need not outlive the power of the machine.
func NoSync(under FS) FS { return &noSyncFS{under} }

type noSyncFS struct{ FS }

func (n *noSyncFS) SyncDir(string) error { return nil }

func (n *noSyncFS) Create(name string) (File, error) { return noSyncOf(n.FS.Create(name)) }
func (n *noSyncFS) OpenRW(name string) (File, error) { return noSyncOf(n.FS.OpenRW(name)) }

func noSyncOf(f File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return noSyncFile{f}, nil
}

// FileMeta implements MetaFS.
func (n *noSyncFS) FileMeta(name string) (Meta, error) { return MetaOf(n.FS, name) }

// SetFileMeta implements MetaFS.
func (n *noSyncFS) SetFileMeta(name string, m Meta) error { return SetMeta(n.FS, name, m) }

type noSyncFile struct{ File }

func (noSyncFile) Sync() error { return nil }
