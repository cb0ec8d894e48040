# Uses the module of doc/frameworks around transactions of ActiveRecord where it is, and prints what the test wants to see.
require ARGV[0]
require "active_support"

puts "held #{Holdfast.with_lock('c') { |redis| redis.call('CHECK', 'c') > 0 }}"
Holdfast.with_lock("c") do
  puts "busy #{Holdfast.with_lock('c', wait: 0) { 'works' }}"
end
puts "then #{Holdfast.with_lock('c') { 'works' }}"
begin
  Holdfast.with_lock("c") { raise "fails" }
rescue RuntimeError => error
  puts error.message
end
Holdfast.with_lock("c") do |redis|
  admin = Redis.new(path: Holdfast::SOCKET)
  told = admin.call("INSPECT", "c").flatten
  admin.call("BREAK", "c", "TOKEN", told[told.index("token") + 1])
  begin
    redis.call("CHECK", "c")
  rescue Redis::BaseError => error
    puts "lost"
  end
end
