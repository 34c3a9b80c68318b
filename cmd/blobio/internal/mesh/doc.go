// Package mesh holds the verbs of adaptive meshes.
package mesh
