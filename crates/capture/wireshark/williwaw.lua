-- Packet truth of williwaw's captures as Wireshark fields and columns.
--
-- `williwaw run --pcap` and `emulate --captures` write what is true of every packet as a comment, such as
-- "packet=62 sent=fast-retransmit verdict=needed queued=2.199763200". This file makes fields of the words:
--
--   wireshark -X lua_script:williwaw.lua rep0.pcapng      then filter by  williwaw.verdict == "unneeded"
--   tshark -X lua_script:williwaw.lua -r rep0.pcapng -T fields -e frame.number -e williwaw.verdict
--
-- A column: Preferences, Columns, type Custom, field williwaw.summary.

local williwaw = Proto("williwaw", "williwaw")

-- Word in the comment, its name, and what it means.
local words = {
  { "packet", "Packet", "number of the packet in the run" },
  { "sent", "Sent", "why the segment was sent" },
  { "verdict", "Verdict", "whether the retransmission was needed" },
  { "timeout", "Timeout", "whether the timeout was spurious" },
  { "cause", "Cause", "why the timeout was spurious" },
  { "queued", "Queued", "time in queues, seconds" },
  { "dropped", "Dropped", "why the packet was dropped" },
  { "at", "At", "where it was dropped" },
  { "late", "Late", "how late the emulator sent it, seconds" },
}

local fields = { summary = ProtoField.string("williwaw.summary", "Summary") }
for _, word in ipairs(words) do
  fields[word[1]] = ProtoField.string("williwaw." .. word[1], word[2], base.UNICODE, word[3])
end
williwaw.fields = fields

local comment = Field.new("frame.comment")

-- What a column has room for.
local function summary(said)
  if said.dropped then return "dropped: " .. said.dropped .. " at " .. (said.at or "?") end
  if said.timeout == "spurious" then return "spurious timeout (" .. (said.cause or "?") .. ")" end
  if said.timeout == "genuine" then return "genuine timeout" end
  if said.verdict then return (said.sent or "retransmitted") .. ", " .. said.verdict end
  return nil
end

function williwaw.dissector(buffer, pinfo, tree)
  for _, info in ipairs({ comment() }) do
    local text = tostring(info)
    if text:find("^packet=") then
      local said = {}
      for key, value in text:gmatch("([%w-]+)=(%S+)") do said[key] = value end
      local branch = tree:add(williwaw, "williwaw: " .. text)
      for _, word in ipairs(words) do
        local value = said[word[1]]
        if value then branch:add(fields[word[1]], value) end
      end
      local short = summary(said)
      if short then branch:add(fields.summary, short) end
    end
  end
end

register_postdissector(williwaw)
