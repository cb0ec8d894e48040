module player

go 1.21

require holdfast.example/holdfast v0.0.0

replace holdfast.example/holdfast => ../../../client/go
