// The text that char_lm learns when it is given none: a lighthouse's log book, written for this purpose.
// It is frozen: the losses in the README are of exactly these characters.
#pragma once

#include <string_view>

inline constexpr std::string_view kLogBook = R"(1 January. Wind north, strong. Sleet, then clear.
A new year and a new log book. The lamp was lit at four and burned well until morning.
The assistant wished the cat a good year. The cat went to sleep.

2 January. Wind north, fresh. Clear, with a hard frost.
One barque and two steamers passed, all going south.
The oil was thick with the cold, and we kept the can by the stove.

4 January. Wind north-west, moderate. Cloud, and a little snow at dusk.
Cleaned the lens and trimmed the wicks. The great clock that turns the lamp lost two minutes.
The assistant says that it coughs. I listened, and it does.

5 January. Wind west, light. Fair all day.
The boatman came with bread, flour, oil and a letter for the assistant.
He said that it would storm by night. It did not storm by night.

7 January. Wind south-west, fresh. Rain, and rain again.
No ship was seen. The assistant read his letter twice and then a third time.
Pea soup for dinner.

8 January. Wind south-west, a gale. Rain and spray on the glass.
The sea came over the landing and took the old bench. We had never liked the bench.
The lamp burned well, but the clock stopped at two, and we turned the lens by hand until dawn.

9 January. Wind west, strong. Showers, clearing late.
Took the clock apart on the kitchen table. One tooth of the small brass wheel is broken.
Put the clock together again with one screw left over.

10 January. Wind west, moderate. Fair, with high cloud.
Wrote to the office on the mainland for a small brass wheel with forty teeth.
The brown schooner passed at noon and dipped her flag. We dipped ours.

12 January. No wind. Fog from morning until midnight.
Sounded the fog horn every two minutes. The fog horn is hoarse and has been hoarse since autumn.
A steamer answered from the south, and later from the east, and then no more.

13 January. No wind. Fog until noon, then pale sun.
The assistant lost his voice as well as the horn. He asked for soup by pointing at the pot.
A fishing boat lay quite near, and none of us had known it.

15 January. Wind east, light. Dry and grey.
Swept the stair from the top to the bottom, one hundred and twelve steps.
The cat came behind and walked on each of them with wet feet.

16 January. Wind east, fresh. Snow in the night.
The rock was white at dawn, with the marks of one gull and one cat.
The marks of the gull went up to the wall and stopped. The cat was not hungry at dinner.

18 January. Wind north-east, strong. Snow showers.
Two fishing boats passed close in, white from bow to stern.
The men waved. The assistant waved back with the broom.

19 January. Wind north-east, a gale. Snow, thick at times.
Lit the lamp at three, as it was dark enough to need it. Cleared the glass of snow four times.
The keeper took the first watch, the assistant the second, and the cat took the chair.

20 January. Wind north, moderate. Clear and very cold.
The water barrel froze. We broke the ice with the hammer, and then we mended the hammer.
So many stars tonight that the assistant gave up counting at nine hundred.

22 January. Wind west, light. Fair.
The boatman came with oil, salt fish and a long box from the office.
It held a map of a river in another country. We have hung it over the hole in the kitchen wall.

24 January. Wind south, moderate. Mild, with small rain.
Two barques passed, and a tug with three barges. The snow is gone from the rock.
Bean soup. The assistant put the salt in twice, once for each of us.

25 January. Wind south-west, fresh. Rain until dusk, then clear.
The brown schooner passed going north and dipped her flag.
She goes by every second week, and we should miss her if she did not.

27 January. Wind south-west, strong. Squalls.
The kitchen door blew open and would not shut. Tied it to the table with a rope.
The table moved a foot in the night.

28 January. Wind west, fresh. Showers and sun.
Mended the kitchen door with a new hinge and an old boot.
The lamp was lit at five and burned well. The clock lost three minutes.

30 January. Wind north-west, light. Fair and cold.
A letter came for the keeper. The office asks which small brass wheel is meant.
Wrote again to the office, with a drawing of the wheel.

31 January. No wind. Clear, and the sea like glass.
Counted the oil: nineteen cans full, two half full, and one with a mouse in it.
The mouse was put out on the rock. The cat was told, but did not care to go out.

2 February. Wind east, moderate. Dry and grey.
The assistant has brought a fiddle down from the loft. It has three strings.
He played it for an hour. The cat asked to be let out.

3 February. Wind east, fresh. Sleet.
One steamer passed. The fiddle was played again after dinner, behind a shut door.
Four seals came to the landing and listened with their heads up.

5 February. Wind south-east, strong. Rain by noon.
The glass is falling. Brought in the ropes, the buckets and the washing.
The boatman did not come, and he was right not to.

6 February. Wind south-east, a gale. Heavy rain.
A barque was seen at dusk, far too near the north reef, with her foresail gone.
We burned a blue light and sounded the horn. She turned, slowly, and stood out to sea.

7 February. Wind south, a storm. Rain and spray, nothing to be seen.
The tower shook at every wave, and the cups walked along the shelf.
The clock stopped at midnight. We turned the lens by hand, one hour each, until day.

8 February. Wind south-west, strong. Clearing, with a high sea.
The barque was seen at anchor under the mainland, safe, with two masts standing.
Planks, a hen house and a barrel came ashore. The hen house was empty.

9 February. Wind west, fresh. Fair.
At dawn there was a goat on the landing. It was wet and angry, and it had a rope on its neck.
It must have swum from the barque. It ate the rope, and then it ate the mat.

10 February. Wind west, light. Fair.
The goat has looked into each room and likes the kitchen best.
The cat sat on the top shelf all day and did not come down for fish.

12 February. Wind north-west, moderate. Showers of hail.
The boatman came with the news of the barque. All hands are well, and the goat is ours to keep.
The captain sends his thanks for the blue light. The captain does not want the goat.

13 February. Wind north, fresh. Clear and cold.
Built a house for the goat out of the hen house. The goat ate a part of the roof.
The lamp was lit at five and burned well.

15 February. Wind north, light. Frost and sun.
Two steamers and the brown schooner passed. The schooner dipped her flag, and the goat watched her.
The assistant milked the goat. It took an hour, and there was a cup of milk.

16 February. No wind. Fog all day.
Sounded the horn every two minutes. The goat answered every two minutes.
A fishing boat came in close to ask what new sort of signal it was.

18 February. Wind south, light. Fog until ten, then sun.
Cleaned the horn and found an old nest in the throat of it, with straw and one button.
It is less hoarse now. The button is from the keeper's second coat.

20 February. Wind south-west, fresh. Rain.
Goat's milk in the soup. The assistant says that it tastes of rope.
No ship was seen until dusk, when a barque passed under small sail.

21 February. Wind south-west, strong. Rain and low cloud.
Painted the oil store inside, as nothing could be done outside.
The goat leaned on the wall, and now there is a green goat.

23 February. Wind west, moderate. Fair, with white cloud.
The boatman came with bread and oil. He looked at the goat for a long time and said nothing.
He left a letter for the assistant and took one away.

24 February. Wind west, light. Fair all day.
A small parcel came from the office: a brass wheel with thirty teeth. We need forty.
Wrote again to the office.

26 February. Wind east, fresh. Dry and cold.
Three fishing boats passed, and a steamer with a red funnel.
Oiled the clock. It lost only one minute, but it coughs as before.

28 February. Wind north-east, strong. Snow at dusk.
The last day of the month, and the last of the onions. Onion soup.
The goat was let in for the night. The cat has come down as far as the second shelf.

1 March. Wind north-east, fresh. Snow, then clear.
The lamp was lit at half past five and burned well. Two barques went by under the moon.
The assistant wrote a letter and would not say to whom.

2 March. Wind north, moderate. Clear.
Washed the windows of the tower, inside and out, on the long ladder.
The goat came up the ladder to see. The goat had to be carried down.

4 March. Wind west, light. Soft rain.
The first puffin of the year sat on the wall and looked at us, and went away again.
Mended two buckets.

5 March. Wind south-west, moderate. Cloud, with some sun.
The brown schooner passed and dipped her flag. There was a child at the rail, who waved.
The assistant played a tune for her on three strings. She was a mile off.

7 March. Wind south-west, a gale. Rain all night.
The sea broke the lower window and put out the stove. Cold beans for dinner.
The lamp burned well and was seen, we hope.

8 March. Wind west, strong. Squalls and rainbows.
Put a board over the lower window. A cod was found in the wood box, quite fresh.
Cod for dinner, and cod for the cat.

10 March. Wind west, fresh. Fair.
The boatman came with glass for the window and said that there would be no more gales.
He also brought a fourth string for the fiddle, sent by the baker's daughter.

11 March. Wind south-west, a gale. Rain.
The boatman was wrong about the gales.
The assistant was up early, singing, and set the new glass in the window before breakfast.

13 March. Wind south, light. Mild and grey.
The fiddle has four strings. It is better, though it is not yet good.
There were nine seals on the landing after dark.

14 March. Wind south, fresh. Rain until noon, then clear.
Two barques and a fishing boat passed. The lamp was lit at six and burned well.
The cat caught a gull, or the gull caught the cat. Both have lost feathers or fur.

16 March. Wind south-east, light. Haze.
Dug the garden behind the wall. It is six steps long and four steps wide.
Planted potatoes, and put up a fence against the goat.

17 March. Wind south-east, light. Haze, then sun.
Planted the potatoes again, and put up a higher fence.

19 March. No wind. Fog in the morning.
Sounded the horn from five until noon. A steamer came out of the fog very near and very tall.
Her captain took off his cap to us, and she went astern and was gone.

20 March. Wind east, moderate. Clear.
Day and night are the same length. The lamp was lit at six and put out at six.
The office asks, by letter, if the wheel might perhaps be made of wood. Wrote again to the office.

22 March. Wind north-east, fresh. Cold, with bright sun.
Aired the beds on the wall. One blanket went out to sea, and the boatman brought it back.
He had thought it was a seal.

23 March. Wind north, strong. Hail.
The hail was so loud on the glass that we could not hear the clock cough.
Barley soup, with a little bacon that the goat had not found.

25 March. Wind north-west, moderate. Showers.
One barque, two steamers, five fishing boats. It is the busiest day of the year so far.
The assistant has cut a small wheel out of an old spoon. It turned for an hour.

27 March. Wind west, light. Fair and almost warm.
Sat on the landing after dinner with our boots off. The goat ate one lace.
The clock is worse. We now turn the lens by hand from two until four, to let it rest.

28 March. Wind west, fresh. Fair, then cloud.
The cat is fat, and she sleeps in the flag box. We think we know why.
Moved the flags to the shelf.

30 March. Wind south-west, strong. Rain at night.
The brown schooner passed late, with her lamps lit, and showed a light in place of a flag.
We dipped the flag all the same, in the dark.

31 March. Wind south-west, moderate. Showers.
Counted the oil: eleven cans full. Counted the candles: forty. Counted the goat: one.
So ends the first quarter, with the lamp lit on every night of it.

1 April. Wind west, fresh. Sun and showers.
The assistant called out that a whale was sitting on the landing. There was no whale.
It was the first of the month, and the keeper had left his soup to look.

2 April. Wind west, moderate. Fair.
A whale was seen to the north at noon, blowing. The keeper did not go out to look.
Two barques passed, and both of them looked.

4 April. Wind south, light. Fair and mild.
The potatoes show green above the ground, eleven plants in all.
Told the goat about the fence. Told the goat again after dinner.

5 April. Wind south, moderate. Rain by night.
The boatman came with oil and bread. He says that the summer will be wet, so we may hope.
A third wheel came from the office. It is the right size and has forty teeth, and it is square.

7 April. Wind south-east, fresh. Rain.
Looked at the square wheel for a long time. Hung it by the door, where it holds the hats.
Wrote again to the office, with thanks.

8 April. No wind. Fog.
Sounded the horn all day, turn and turn about. The horn is hoarse once more.
The puffins have come back in hundreds, and we heard them walking on the roof.

10 April. Wind north, light. Clear and cool.
The fog went out to sea in one piece, like a wall on wheels.
Nine ships lay behind it, waiting. They all made sail together.

11 April. Wind north, moderate. Fair.
The cat has four kittens in the second drawer: two grey, one black and one white.
The assistant made her a fish stew. She ate it and looked at us as if we were to blame.

13 April. Wind north-east, light. Dry and bright.
The brown schooner passed and dipped her flag. The child at the rail held up a doll to see us.
The assistant held up a kitten.

14 April. Wind east, fresh. Grey, with cold spray.
Tarred the boat and the ropes of the crane. The keeper's hat fell in the tar.
Hung it on the square wheel to dry.

16 April. Wind south-east, strong. Rain.
One steamer passed, rolling badly. Her cook threw us a cabbage, or threw away a cabbage.
Cabbage soup.

17 April. Wind south, fresh. Rain, then a red sunset.
The lamp was lit at seven and burned well. The clock stopped twice.
The assistant's wheel of spoon lasted until midnight, and then it was a spoon again.

19 April. Wind south-west, moderate. Showers.
The kittens have opened their eyes. The black one saw the goat and shut them.
Patched the sail of the small boat.

20 April. Wind west, light. Fair all day.
Fished from the landing: six pollack, one crab and the old bench.
The bench had been under the rock since January. We still do not like it.

22 April. Wind west, light. Fair and warm.
The boatman came with his wife, to see the lamp. She climbed all the steps and did not rest.
She said that it wanted dusting. It did.

23 April. Wind north-west, fresh. Clear.
Dusted the lamp, the lens, the clock, the stair and the assistant.
Three barques passed, going north with the tide.

25 April. Wind north, moderate. Cloud.
A letter came for the assistant with a pie in it, or a pie came with a letter in it.
He gave the keeper half of the pie and none of the letter.

26 April. Wind north, fresh. Cold rain.
The keeper's knee says that it will blow. The boatman says that it will not.
Tied down the hen house and asked the goat to stay in it.

27 April. Wind north-west, a gale. Rain and hail.
The knee was right. A fishing boat ran for shelter under our rock and lay there until morning.
We let down soup to the men in a bucket. The bucket came up with four herring in it.

29 April. Wind west, fresh. Clearing.
A bottle was found on the landing with a paper inside. The writing had been washed away.
We could read only three words: please, Tuesday and cheese.

30 April. Wind west, light. Fair.
It was Tuesday. We had cheese, so as to be safe.
The lamp was lit at half past seven, and the moon came up red behind a barque.

2 May. Wind south-west, light. Fair and warm.
The sea pinks are out all over the rock, and the bees have come over from the mainland to see.
Painted the rail white. The goat is green and white.

3 May. Wind south, light. Haze.
A letter came from the office. The inspector will visit us in June.
Read the letter aloud to the assistant, who sat down on the coal.

5 May. Wind south-east, moderate. Haze, then sun.
Began to clean the tower for the inspector. Began at the top.
Five steamers passed, and two tugs. There is much smoke in the south.

6 May. Wind east, light. Dry and warm.
Cleaned the lamp room. Found a spoon, a hymn sheet and eleven dead moths.
The white kitten came up the stair alone, one hundred and twelve steps, and slept on the log.

8 May. Wind north-east, light. Fair.
Cleaned the oil store. Every can has been turned so that its label looks at the door.
The assistant asked if the cat should also be turned. Told him to go fishing.

9 May. No wind. Fog until noon.
Sounded the horn. The kittens hid in the boots, all four of them, one to a boot.
Found the fourth only when I put on the boot.

11 May. Wind north, light. Clear.
The brown schooner passed, close in, and dipped her flag. The captain called out through his hands.
He asked if our light was slow, or if he was growing old. Called back that it was the light.

12 May. Wind north-west, moderate. Fair.
I am sorry for what the captain said, because it is true. The clock loses ten minutes in a night.
Wrote again to the office, and pressed hard with the pen.

14 May. Wind west, fresh. Showers and sun.
Whitewashed the wall on the south side. A puffin walked along it before it was dry.
There is now a white puffin with an angry face.

15 May. Wind west, fresh. Rain at dusk.
The assistant played the fiddle for the kittens. The two grey ones stayed until the end.
Fourteen seals, and one of them sang.

17 May. Wind south-west, strong. Rain.
A barque lost her boat near the reef, and the boat came to us, with a lantern and a loaf in it.
Dried the loaf. It is good for the goat.

18 May. Wind south-west, moderate. Clearing.
The boatman came to fetch the lost boat. He brought six eggs, of which he had sat on two.
Egg soup, which none of us will make again.

20 May. Wind south, light. Fair and warm.
Dug up one potato to see how they do. It was as big as a button.
Put it back and begged its pardon.

21 May. Wind south-east, light. Fair all day.
Two barques stood becalmed off the rock from noon until dusk, with all sail set.
Their crews sang across the water, first the one and then the other. The lamp was lit at eight.

23 May. Wind east, moderate. Grey.
The goat broke the fence and ate three of the potato plants, and she was sick on the stair.
Cleaned the stair, which had been clean.

24 May. Wind east, light. Haze.
Mended the fence with planks from the January bench. At last the bench is of use.
One tug passed with a long raft of timber, and a dog was walking on it.

26 May. Wind north-east, fresh. Dry and cool.
Put out the flags to air, all twenty-six. The harbour master wrote to ask what we had meant.
It seems that we had asked for a doctor and a pound of gunpowder.

27 May. Wind north, light. Clear.
The doctor came. He had his tea, looked at the keeper's knee and the cat, and found them both sound.
He left a bottle for the horn, since it was hoarse.

29 May. Wind north-west, light. Fair.
Gave the horn its medicine, for a joke. It is much less hoarse.
We shall not write to the office about this.

30 May. Wind west, moderate. Fair, with white cloud.
Painted the door of the tower red. It can be seen from the mainland, says the boatman.
He also says that it will be dull all through June.

31 May. Wind west, light. Sun all day.
Counted the oil: fourteen cans full. Counted the kittens: four, then three, then four.
The black one had been in the soup pot, which was empty, luckily.

1 June. Wind south-west, light. Sun all day.
The boatman's dull June has begun with the finest day of the year.
Seven barques passed in a line, like washing.

3 June. Wind south, light. Warm, with haze.
Polished the brass until the assistant could see himself in it. He went and washed.
The lamp was lit at half past eight and put out at half past three.

4 June. Wind south, moderate. Cloud, and a little thunder.
There was thunder in the south, and the kittens went into the boots.
Locked the goat in the hen house, as the inspector may come on any day.

6 June. Wind south-west, fresh. Showers.
The inspector did not come. Swept the landing.
Bean soup, kept hot until nine.

7 June. Wind west, light. Fair.
The inspector did not come. Swept the landing, and swept the rock behind it too.
A steamer with music on board went by at dusk.

9 June. Wind west, light. Fair and warm.
The inspector did not come. The assistant swept the sea a little, near the steps.
Let the goat out, since she had begun to eat the lock.

10 June. Wind north-west, light. Fair.
The inspector came. He is a tall man with a tall hat and a small book.
The goat met him on the landing and ate the hat.

11 June. Wind north, light. Clear.
The inspector wrote in his small book until late. He made the steps one hundred and eleven.
We counted with him, and it was one hundred and twelve. He wrote that down too.

12 June. Wind north, light. Clear, and very still.
The inspector sat up with us to hear the clock. It coughed at one, and at two it stopped.
He turned the lens by hand until dawn in his shirt, and said that it was a disgrace, but not ours.

13 June. Wind north-east, light. Fair.
The inspector left with the boatman, in the keeper's second hat, with a grey kitten in it.
He says that we shall have our wheel. The goat was sorry to see him go.

15 June. Wind east, light. Warm.
Slept until noon. The assistant slept until two. The cat has not yet been seen to wake.
One fishing boat passed.

16 June. Wind east, moderate. Fair, with cloud at dusk.
The brown schooner passed and dipped her flag. The child at the rail has grown.
The captain called out that he was not growing old after all.

18 June. Wind south-east, light. Haze and heat.
Washed the blankets in the rock pool. Two crabs came up with them.
Crab soup, and the best of the year.

19 June. No wind. Heat, and the sea like oil.
Too hot for the stove, so we cooked an egg on the roof of the oil store.
The seals lay on the landing and would not move for the boatman.

21 June. Wind south, light. Fair.
It is the longest day. The lamp was lit for five hours only, and it seemed hardly worth the match.
Sat on the wall and watched the red go round from the west to the east.

22 June. Wind south-west, light. Fair.
The boatman came with a basket of strawberries from the baker's daughter.
They were for the assistant, but the keeper was allowed to smell them, and in the end to eat nine.

24 June. Wind west, moderate. Fair, then cloud.
There were bonfires on the mainland, eleven of them, all along the hills.
We answered with the lamp, and the assistant danced on the landing with the broom.

25 June. Wind west, fresh. Rain at last.
The barrel is full, and the garden is green. So is the goat, where the paint has stayed.
A barque passed with her decks full of sheep. The goat shouted at them.

27 June. Wind north-west, moderate. Showers.
The black kitten went to live with the boatman. He carried it off in his hat.
He says that it will bring bad luck, and he is delighted with it.

28 June. Wind north, light. Clear.
Found a nest with one egg in the throat of the horn. There will be no fog, we hope.
Told the assistant to look the other way, and looked the other way myself.

30 June. Wind north-east, light. Fair.
Counted the oil: nine cans full, and there is no fear, for the nights are short.
So ends the second quarter, with the lamp lit on every night of it.

1 July. No wind. Fog, on the very day after we hoped.
Did not sound the horn. Rang the kitchen bell and beat on the pans instead, from six until noon.
A steamer asked by signal if we were moving house.

2 July. Wind south, light. Haze, then sun.
The egg in the horn has hatched. It is a small grey bird with a large opinion.
The office need not know.

4 July. Wind south-west, light. Fair.
The boatman came with bread, oil and a crate from the office. We opened it with great care.
It was full of teapots, forty in all. We had asked for forty teeth.

5 July. Wind west, light. Fair and warm.
Wrote again to the office. The assistant drew a tooth, a teapot, and a line through the teapot.
Put the teapots along the stair, one to every third step or so.

7 July. Wind west, moderate. Showers.
It rains in at the top of the stair, and now we have something to put under it.
Two barques passed, and a yacht with a man asleep at the tiller.

8 July. Wind north-west, light. Fair.
Called to the man in the yacht with the horn, but softly, because of the bird.
He woke, waved his hat and missed the reef by a boat's length.

10 July. Wind north, light. Clear.
The man in the yacht came back to thank us, with a ham.
Ham for dinner. The cat and the goat sat side by side for the first time.

11 July. Wind north-east, moderate. Dry.
The brown schooner passed and dipped her flag. The assistant tied a bow on ours.
Pea soup with ham.

13 July. Wind east, light. Warm.
The grey bird has left the horn. It stood on the edge for an hour, and fell, and flew.
Cleaned the horn and sounded it once, for joy.

14 July. Wind east, light. Haze and heat.
The paint on the red door has blisters. The assistant has blisters, from the oars.
He rowed to the mainland and back to post one letter.

16 July. Wind south-east, moderate. Thunder at night.
Lightning struck the sea a mile off, and then half a mile. Took down the flagstaff and ourselves.
The lamp burned well through all of it and did not blink.

17 July. Wind south, fresh. Rain, then clear.
Every pool on the rock is full, and the goat went from one to the next as if tasting wine.
A fishing boat gave us a basket of mackerel.

19 July. Wind south-west, light. Fair.
Fried mackerel. Tomorrow, cold mackerel. The day after, I fear, mackerel soup.
The cat has asked for nothing for two days.

20 July. Wind west, light. Fair all day.
A party of visitors came with the boatman: a schoolmistress and fourteen children.
They counted the steps and made it one hundred and twelve. The inspector should have asked them.

21 July. Wind west, moderate. Cloud.
The children left behind a shoe, a drawing of the goat and a whole bag of toffee.
The goat ate the drawing. We have hidden the toffee and the shoe.

23 July. Wind north-west, fresh. Showers.
The white kitten fell in the rain barrel and was lifted out with a soup spoon.
She is not white at all when she is wet. She is pink.

24 July. Wind north, moderate. Fair.
Three barques and eight fishing boats passed. The herring are in.
At night the boats lay all about us with their lanterns, like a town that had come on a visit.

26 July. Wind north, light. Clear.
The clock stopped at eleven and would not be shaken. Turned it by hand, and sang, to keep time.
The fishing boats sang with us, a little behind.

27 July. Wind north-east, light. Fair.
The boatman says that he saw our light from his bed, and that it turned like a tired horse.
He is not wrong in everything.

29 July. Wind east, light. Warm and dull.
Dug the first potatoes. There are enough for a week, or for one day with the assistant.
Boiled them with salt and ate them on the wall.

30 July. Wind south-east, light. Haze.
A swallow sat on the clock for an hour and rode round and round with it.
It was the first good that I have known the clock to do since winter.

31 July. No wind. Fog at dawn, then sun.
Counted the oil: twelve cans full. Counted the teapots: thirty-nine, and one in the sea.
The assistant has a letter that he reads while he stirs. The soup boiled over.

2 August. Wind south-west, light. Fair and hot.
The inspector writes that the kitten is well and sleeps on his small book.
As to the wheel, he has spoken to the office, and the office was quite pale.

3 August. Wind south-west, moderate. Cloud, and some rain.
Tarred the roof of the oil store. The goat stood in it, and we cut her loose with the kitchen knife.
She now has four black boots.

5 August. Wind west, light. Fair.
A new star was seen in the north-west after midnight, low down, with a faint tail.
The assistant says that it is a comet. The keeper says that it is a smear on the glass.

6 August. Wind west, light. Clear.
Cleaned the glass. It is a comet.

8 August. Wind north-west, light. Clear.
The comet is higher, with a tail as long as my hand. All the fishing boats had put out their lights.
The boatman says that it means rain.

9 August. Wind north, moderate. Clear and cool.
The brown schooner passed by night, under the comet, and showed her lamp to us.
We turned the lens a little slower while she went by, and nobody blamed the clock.

11 August. Wind north, light. Clear.
Shooting stars in every part of the sky. The assistant counted sixty and made a wish on each.
I asked him what a man could want sixty times. He went red and trimmed the wick.

12 August. Wind north-east, light. Fair.
The assistant rowed to the mainland in a clean shirt. He took a teapot with him, tied with ribbon.
The cat and I had fish.

13 August. Wind east, light. Fair.
The assistant came back at noon, without the teapot. He sang on each of the steps.
He put salt in the tea and sugar in the soup, and I ate both and did not say a word.

15 August. Wind south-east, light. Haze.
The assistant and the baker's daughter are to be married in December, if the sea allows.
Wrote it in the log, since it concerns the light. Opened the good cheese.

16 August. Wind south, moderate. Rain at night.
The boatman was told the news. He says that he knew it in March, from the string.
The comet has not been seen for the cloud.

18 August. Wind south-west, fresh. Rain.
Rain in at the top of the stair, in eleven teapots. The assistant played them with a spoon.
It is better than the fiddle, but I did not tell him so.

19 August. Wind west, moderate. Showers and sun.
Four steamers passed, one behind the other, and the last was towing the first one's boat.
Mended the pump.

21 August. Wind west, light. Fair.
The comet is small and low. The keeper stayed up to see it set.
There was a wet track on the stair at dawn, as of a seal that had come in and gone out again.

22 August. Wind north-west, light. Fair.
It was a seal. It was found behind the flour barrel, asleep, with the cat on its back.
Rolled it down to the landing on three oars. It was very polite.

24 August. Wind north, fresh. Cold for the month.
The puffins went in the night, all together, and the roof is quiet.
Lit the stove in the lamp room for the first time since April.

25 August. Wind north-east, moderate. Dry.
Two barques passed, with autumn timber. Picked the peas, both of them.
The goat had been over the fence, under it and, it would seem, through it.

27 August. Wind east, light. Fair.
Built the fence anew, with the goat on the inside and the garden on the outside.
This should have been thought of in the spring.

28 August. Wind east, light. Fair, with haze at dusk.
The boatman came with oil and candles, and with his black kitten on his shoulder.
It sailed the boat, he says, for part of the way.

30 August. Wind south-east, moderate. Grey.
The lamp was lit at seven and burned well. The moths are many, and fat.
The white kitten jumps at them and has twice been seen to fly.

31 August. Wind south, fresh. Rain.
Counted the oil: ten cans full. Asked the office for twenty, as the nights grow long.
I hope that they do not send us twenty pans.

1 September. Wind south-west, fresh. Squalls and sun.
The glass went down and came up again, like a man who has forgotten his hat.
A barque passed with a torn topsail, and her cook waved a cloth at us.

3 September. Wind west, moderate. Fair.
The twenty cans came, and they were cans, and they were full of oil.
We looked into each of them twice, and could find no fault.

4 September. Wind west, fresh. Rain at dusk.
Carried the oil up from the landing. The keeper's knee has views on it.
Leek soup, and early to bed, but for the watch.

6 September. Wind north-west, moderate. Showers.
The brown schooner passed and dipped her flag. There was no child at the rail.
The captain called out that she was at school, and that she had left her regards to the goat.

7 September. Wind north-west, light. Fair.
Gave the goat her regards. The goat was chewing a glove and did not stop.
It was the keeper's glove.

9 September. Wind north, light. Clear and cool.
Geese went over in the night, very high, talking all the way.
The assistant called up to them to ask the time.

10 September. No wind. Fog, thick and white.
Sounded the horn from three in the morning until nine at night. It did not fail us.
A steamer, two barques and the boatman went by unseen. We knew the boatman by his cough.

11 September. No wind. Fog.
The fog lay so close that the assistant hung his coat on it, or so he says.
The coat was found in the sea at noon.

13 September. Wind south-east, light. Sun at last.
Dried everything that we have. The rock looked like a ship with all sail set.
Four fishing boats passed and cheered us.

14 September. Wind south-east, moderate. Cloud.
The assistant is building a bed, and a shelf, and a second shelf for her books.
He has asked me which window has the better view. Both of them have the sea.

16 September. Wind south, fresh. Rain by night.
The keeper has given up the south room, which is warm, and has the north room, which is not.
The cat thinks him foolish and has stayed in the south room.

17 September. Wind south-west, strong. Rain.
The first hard blow of the autumn. Took in the bench, or what the fence had left of it.
The clock stopped three times before midnight. Turned the lens by hand.

19 September. Wind west, strong. Squalls.
A tug passed with a barge, and came back without it. The barge passed at dusk, alone.
We showed her the light as we would to any other ship.

20 September. Wind west, moderate. Fair.
Dug up the last of the potatoes: two sacks, and one shaped like the inspector.
It has been put on the shelf and will not be eaten.

22 September. Wind north-west, light. Clear.
A parcel came from the inspector, small and heavy, with string round it eleven times.
In it was a wheel of brass, round, with forty teeth. We counted them aloud, and then we sat down.

23 September. Wind north, light. Clear.
Took the clock apart on the kitchen table. Put in the wheel. Put the clock together again.
There was no screw left over, and even the old screw found its place.

24 September. Wind north, light. Clear, with a full moon.
The clock ran from dusk until dawn and did not lose a minute. It does not cough.
It was so quiet that neither of us could sleep.

26 September. Wind north-east, moderate. Fair.
Wrote to the inspector, and thanked him, and sent him the teapot with the blue handle.
The assistant wound the clock, though it did not need it.

27 September. Wind east, fresh. Grey.
The boatman says that our light now goes round like a young horse.
He adds that such a thing will bring on a storm.

29 September. Wind east, light. Dry and mild.
One barque and two steamers passed. Mended the net, the chair and the goat's rope.
Turnip soup. The goat had the tops.

30 September. Wind south-east, moderate. Cloud.
Counted the oil: twenty-four cans full. Counted the screws: none over.
So ends the third quarter, with the lamp lit on every night of it.

1 October. Wind south, moderate. Rain until noon, then clear.
The lamp was lit at six and burned well. The clock was wound at dusk and lost nothing.
The assistant has begun a third shelf.

2 October. Wind south-west, fresh. Showers.
The boatman came with bread, flour and a letter. He says that it will be fair.
Tied down the hen house at once.

4 October. Wind south-west, strong. Rain.
The glass is falling. Brought in the ropes, the buckets, the goat and the washing.
Two barques ran past to the north under small sail.

5 October. Wind west, a gale. Rain and spray on the glass.
The sea came over the landing and took back the bench, all that was left of it.
We wish it well. The lamp burned clear all night.

6 October. Wind west, a storm. Spray over the tower, nothing to be seen.
The cups walked along the shelf again. One teapot walked down eleven steps and was not broken.
The clock ran through the whole of it, and the goat slept in the wood box.

7 October. Wind north-west, a gale. Squalls, then a wild red dusk.
A small boat was seen at dusk, full of water, with one man in it and a cat on his shoulder.
It was the boatman. He had come to see if we were safe.

8 October. Wind north-west, strong. Clearing.
We had thrown him a rope, and the assistant went in up to his neck to fetch him. His boat is lost.
He sits by the stove in three blankets. The black kitten has had fish and is well.

9 October. Wind west, fresh. Fair, with a high sea.
The boatman says that it was the light that brought him in. He kept it over the bow and pulled.
He says that if it had coughed once, he would not be here.

11 October. Wind west, moderate. Fair.
A fishing boat came to take the boatman home to his wife. He wept a little and blamed the soup.
Planks have come ashore, and we have kept each one of them.

12 October. Wind north-west, light. Fair.
Wrote to the office for wood, nails and tar, for the mending of a boat.
We did not say whose boat, nor that there was nothing of it to mend.

14 October. Wind north, light. Clear and cold.
The office has sent wood, nails and tar, and all of it in the right number.
The assistant looked in the crate for teapots and was almost sorry.

15 October. Wind north-east, moderate. Dry.
Laid down the keel of the boat on the landing. The goat stood on it and would be the captain.
Three steamers passed, going south.

17 October. Wind east, fresh. Grey.
Eleven planks on the boat. The keeper hit his thumb once, and the assistant hit it twice.
Bean soup, eaten with the other hand.

18 October. Wind east, light. Haze.
The brown schooner passed and dipped her flag. The captain called out to ask what we were building.
Called back that it was a boat. He looked through his glass and called out to ask again.

20 October. No wind. Fog all day.
Sounded the horn every two minutes, and hammered on the boat between.
A steamer answered with the horn, and then, I think, with a hammer.

21 October. Wind south-east, light. Fog until ten, then sun.
The cat and the two kittens sat in the boat in a row. They seemed to wait for the tide.
Seventeen planks.

22 October. Wind south, moderate. Rain.
Rain in at the top of the stair. Emptied the teapots twice before noon.
The assistant played the fiddle in the dark, and it was a good tune. I told him so, this time.

24 October. Wind south-west, fresh. Squalls and sun.
A barque passed with a rainbow standing on her deck. Tarred the boat on the left side.
The goat is not to go near the left side.

25 October. Wind south-west, moderate. Showers.
Tarred the boat on the right side. The goat has gone near the left side.
She now has a black beard, and looks like the captain of something.

27 October. Wind west, light. Fair.
Put the boat into the water at high tide. It went in on its own, ten minutes too soon.
It floats. It leans a little to the west, but so does the boatman.

28 October. Wind west, light. Fair all day.
A fishing boat brought the boatman, and we gave him his boat. He could find no fault with it.
He walked round it for an hour to find one, and then he had to go into the store to cough.

29 October. Wind north-west, moderate. Cloud.
The boatman rowed home in the new boat, with the black kitten at the bow.
He said that it would be a bad winter, and I have never seen him so happy.

31 October. Wind north, fresh. Clear and cold.
Counted the oil: twenty-one cans full. Something knocked three times at the red door after dark.
It was the goat, who wished to be let in.

1 November. Wind north, strong. Hail and sun.
Two barques and a tug passed, white with spray. The lamp was lit at five.
The assistant has hung curtains in the south room. They are flags, but only the friendly ones.

2 November. Wind north-west, strong. Squalls.
Swept the stair. The grey kitten came behind and walked on each of the steps with wet feet.
She has had it from her mother.

3 November. Wind north-west, a gale. Sleet.
The lamp burned well. I took the first watch, the assistant the second, and the clock took both.
It is a great thing to sit by a clock that does not cough.

5 November. Wind west, fresh. Showers.
The brown schooner was looked for and was not seen. It may be that she passed in the rain.
Barley soup.

6 November. Wind west, moderate. Cloud.
The boatman came with oil and bread. He has heard nothing of the schooner.
The baker's daughter sent us a cake, and the assistant a scarf as long as the landing.

8 November. Wind south-west, strong. Rain.
The goat ate one end of the scarf, and the assistant had the other. It came out even.
No ship was seen.

9 November. Wind south-west, a gale. Rain all night.
A steamer made her number to us at dusk and asked us to say that she was safe. We said it.
The sea broke the lower window again, and the same cod, or his son, was found in the wood box.

10 November. Wind west, strong. Squalls and rainbows.
Set new glass in the lower window. Cod for dinner, and cod for the cat, the kittens and the goat.
The goat did not care for it, but she would not be left out.

12 November. Wind west, fresh. Fair for an hour.
The schooner was not seen. Asked a fishing boat for news of her, and they had none.
Left the flag up until dark.

13 November. Wind north-west, moderate. Showers of hail.
Cleaned the lens and trimmed the wicks. The assistant asked if the glass could be made any cleaner.
We both know why he asked. Cleaned it again.

15 November. Wind north, light. Frost and sun.
The water barrel froze. Broke the ice with the hammer, and this time the hammer was not broken.
Two barques passed, and neither one was brown.

16 November. Wind north-east, fresh. Snow showers.
The first snow of the winter. The white kitten went out in it and was lost until she sneezed.
Onion soup.

17 November. Wind north-east, strong. Snow, thick at times.
Lit the lamp at three. Cleared the glass of snow five times, once with the scarf.
The boatman did not come, and once more he was right not to.

19 November. Wind east, fresh. Sleet, then dry.
The schooner was not seen. A barrel came ashore with no name on it, and there were apples in it.
They may be from any ship. We ate them, but we did not talk.

20 November. Wind east, moderate. Dry and grey.
Baked apples, and gave the goat the cores. She looked out to sea for a long time.
I think that she was looking at a gull.

22 November. No wind. Fog from morning until midnight.
Sounded the horn every two minutes, and every minute after dark, though no book asks for it.
Nothing answered but the goat.

23 November. Wind south, light. Fog until noon, then pale sun.
The boatman came. He says that the schooner is surely lost, with all hands.
The assistant jumped for joy and kissed him, for the boatman has been right only twice this year.

25 November. Wind south-west, fresh. Rain.
Painted the south room white. The white kitten leaned on the wall, and there was no harm done.
Two steamers passed, low in the water.

26 November. Wind south-west, strong. Rain and low cloud.
The keeper's knee says that it will blow, and for how long.
Took in everything that could be lifted, and sat on the rest.

27 November. Wind south-west, a gale. Heavy rain.
A fishing boat ran for shelter under our rock. Let down soup in the bucket, and a teapot, for tea.
They sent up five herring and kept the teapot, with our good will.

28 November. Wind west, a gale. Squalls.
The lamp burned well. The wind came down the stair and turned all the pages of the log.
It stopped at July. We sat and read about July.

30 November. Wind north-west, fresh. Clearing.
Counted the oil: fifteen cans full. The stars came out one at a time, and then all at once.
There is no word of the schooner.

1 December. Wind north, fresh. Clear, with a hard frost.
Two barques passed before noon, both going south. The lamp was lit at four and burned well.
The assistant has asked me to stand next to him on the day, and to hold the ring, and the goat.

2 December. Wind north, moderate. Clear and cold.
Brushed my coat. Sewed on the button that was found in the throat of the horn.
The grey kitten helped with the thread.

3 December. Wind north-west, light. Fair.
A letter came from the inspector. He will come for the wedding, in a new hat, if the goat is tied.
Showed the letter to the goat. She ate it, but slowly, as if she was reading.

5 December. Wind west, moderate. Showers.
Cleaned the tower from the top to the bottom, one hundred and twelve steps.
The assistant cleaned it after me, from the bottom to the top, and we met at the lamp.

6 December. Wind south-west, fresh. Rain until dusk, then clear.
One steamer passed. Leek soup, and the fiddle after dinner, with the door open.
There were twenty seals on the landing, and not one of them left before the end.

7 December. Wind south-west, strong. Rain.
The boatman came with four chairs and a ham. He says that the day of the wedding will be foul.
The assistant shook him by the hand.

9 December. Wind west, a gale. Rain and hail.
The sea came over the landing, looked for the bench and went away with a bucket.
Tied down the chairs.

10 December. Wind west, strong. Squalls.
A barque was seen far out with her foresail gone. Burned a blue light, and she stood out to sea.
It was not the schooner. Left the flag up until dark.

11 December. Wind north-west, moderate. Clearing.
Painted the red door again, so that it can be seen from the mainland. Locked the goat in the store.
She came out of the store with a red nose.

13 December. Wind north, light. Clear, and the sea like glass.
The day of the wedding, and the finest since June. The boatman looked at the sky and shook his head.
The baker's daughter came over the water in the new boat, with a wheel of cheese on her knees.

14 December. Wind north, light. Frost and sun.
They were married on the landing at noon. The inspector gave them a clock, and it does not cough.
The goat was tied, and ate the rope, and then ate the flowers. She left the hat until the evening.

15 December. Wind north-east, light. Fair.
The inspector went home with the boatman, in the keeper's third hat. I have no more hats.
He counted the steps before he left and made it one hundred and twelve.

16 December. Wind east, moderate. Dry and grey.
The baker's daughter is now the third keeper of the light, says the inspector's small book.
She lit the lamp at four, with one match. It takes me three.

18 December. Wind east, fresh. Sleet.
There is new bread. There was new bread yesterday also. I write it down, as it concerns the light.
The cat has moved from the chair to the shelf over the oven.

19 December. Wind south-east, strong. Rain by noon.
The goat tried the new curtains and was spoken to by the baker's daughter. She put them back.
No one has ever spoken to the goat so before.

20 December. Wind south, fresh. Rain, then a red sunset.
The three of us each took a watch, and so all of us slept. I dreamed of a square wheel.
Two steamers and a tug passed.

21 December. No wind. Fog.
It is the shortest day, and we have not seen it. Sounded the horn from dawn until midnight.
At ten there was an answer from the south, a small bell, rung by hand. Then no more.

22 December. No wind. Fog until noon.
The bell was heard again at dawn, quite near. We beat on the pans and burned a blue light.
At noon the fog went up like a curtain, and there lay the brown schooner, with one mast.

23 December. Wind west, light. Fair.
She had lost a mast and her boats in the November gales, and had mended what she could.
All hands are well. The captain saw our light through a hole in the fog, turning as it should.

24 December. Wind west, light. Fair and cold.
The boatman brought the child out to meet her father. She ran up all the steps and down again.
She says that there are one hundred and thirteen. We shall count them in the new year.

25 December. Wind west, light. Fair all day.
There were eleven of us at the table, with a seal under it. Ham, potatoes, and bread without end.
The schooner's cook made the soup, and asked us for our soup of June, with the crabs.

26 December. Wind south-west, light. Fair.
A tug came for the schooner and took her to the mainland. She dipped her flag, and we dipped ours.
The assistant's wife gave the child the grey kitten. The cat was asked, and did not mind.

28 December. Wind south-west, fresh. Rain.
Three barques passed. Rain in at the top of the stair, and the teapots are all in use.
Wrote to the office for a new roof, and drew them a picture of it.

29 December. Wind west, strong. Squalls.
The kitchen door blew open and would not shut. Tied it to the table, and tied the table to the goat.
It did not move in the night.

30 December. Wind north-west, moderate. Showers, clearing late.
The boatman came with oil and a letter from the office. He says that it will storm by night.
The office has read of our roof, and asks for how many teeth.

31 December. Wind north, light. Clear, with a hard frost.
Counted the oil: thirteen cans full. Counted the keepers: three. The cat was wished a good year.
So ends the log book, with the lamp lit on every night of it. It burns well, and the sea is calm.
)";
