// Package server has the verb serve, which offers datasets over HTTP.
package server
